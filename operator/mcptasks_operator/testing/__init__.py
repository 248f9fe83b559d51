"""Doubles for tests: an API server in memory, one that fails on demand, and the kubelet's part in a pod's life.

In no running operator; they ship with the package so that who builds on it can test with them too.
"""
