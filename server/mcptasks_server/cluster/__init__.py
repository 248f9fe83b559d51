"""Tasks and tools in Kubernetes: the only part of the server that talks to the API server."""
