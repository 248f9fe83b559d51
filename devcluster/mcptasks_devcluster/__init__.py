"""A real Kubernetes for tests, demos and development, on machines with and without a container engine.

``python -m mcptasks_devcluster up`` gives a cluster that is named explicitly, or one made by kind, or one made
here from pinned Go modules inside namespaces of its own. It is a development tool: in no wheel, imported by none
of the product's packages.
"""
