"""What methods do. Each era has a table of its own that names those which it has."""
