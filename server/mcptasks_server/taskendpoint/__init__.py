"""The task endpoint: what a task's pod says to the server and asks of it, over plain HTTP and JSON.

A second listener of the same process. A pod speaks for its own task alone; what it says becomes leaves of
`status.report`, and the operator decides what follows from it. Everything may be repeated.
"""
