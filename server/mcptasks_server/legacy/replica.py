"""What one replica knows of its own legacy clients. Nothing here must survive it: each part says what is lost."""

from dataclasses import dataclass, field

from mcptasks_server.signing import Signer

from .loglevels import LogLevels
from .result_streams import ResultStreams
from .server_requests import ServerRequests
from .underway import UnderWay


@dataclass(frozen=True, kw_only=True)
class Replica:
    """The tables of one replica."""

    server_requests: ServerRequests
    """Who waits for a client's answer here. Lost: an inline tool's own request, with the tool's run; a call that asks
    before there is a task, which its client makes again."""
    log_levels: LogLevels = field(default_factory=LogLevels)
    """Lost: the level; the default holds."""
    under_way: UnderWay = field(default_factory=UnderWay)
    """Lost: nothing; with the replica its requests end."""
    result_streams: ResultStreams = field(default_factory=ResultStreams)
    """Lost: nothing; with the replica its streams end."""

    @classmethod
    def new(cls, signer: Signer) -> "Replica":
        """Empty tables."""
        return cls(server_requests=ServerRequests(signer))
