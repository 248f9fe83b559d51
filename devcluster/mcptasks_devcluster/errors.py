"""Everything this tool fails with, split by what the reader of the message does next."""


class DevclusterError(Exception):
    """The root: the command line prints the message and exits with 1."""


class UnavailableError(DevclusterError):
    """This machine lacks something; the message names it and how to get it."""


class CommandError(DevclusterError):
    """A program that was run ended badly; the message carries its last words."""


class NotReadyError(DevclusterError):
    """The cluster did not come up in time, or a part of it keeps dying; the message names the log files."""


class WrongClusterError(DevclusterError):
    """The request does not fit the cluster that exists (other provider, other size, no such name)."""
