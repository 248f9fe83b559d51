"""Shapes of the wire that `mcp-types` does not have."""
