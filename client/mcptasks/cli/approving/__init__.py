"""Answering as an approver, by the Kubernetes API. The one part of this package that knows of Kubernetes.

It runs `kubectl`, as the person at hand is logged in, so it needs no library of Kubernetes; docs/approvals.md shows the
same by hand.
"""
