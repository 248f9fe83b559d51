"""The task endpoint's stand-in: the same contract for one task, on a loopback port, without a cluster.

`python -m mcptasks.job.run` runs a tool against it, and so may a tool author's own tests.
"""

from .desk import Desk, Question
from .server import StandIn

__all__ = ["Desk", "Question", "StandIn"]
