"""What can go wrong in the operator, split by what the caller does about it.

What the API server answers is in `mcptasks_crds.kube`'s own tree; these are the operator's own.
"""

from mcptasks_crds.reasons import Reason


class OperatorError(Exception):
    """The root: something the operator cannot go on with."""


class SettingsError(OperatorError):
    """The environment is wrong: say so and exit."""


class WatchError(OperatorError):
    """The watches ended and do not come back: exit, to be started anew."""


class NotLeadingError(OperatorError):
    """This process may not act now, another one may be acting: do nothing, and look again later."""


class LeadershipLostError(OperatorError):
    """Another process may act from now on: stop at once and exit, to be started anew as one that stands by."""


class UnsettledError(OperatorError):
    """A pass over a task did not come to an end within its bound: look again later."""


class JobRefusedError(OperatorError):
    """No Job can be made for the task: end the task with this reason and message."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
