"""The project's own image, from the repository's Dockerfile, on machines with and without a container engine."""
