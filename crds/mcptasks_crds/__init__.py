"""The custom resources of mcptasks: names, models, the phases of a task, and the rules that the API server enforces."""
