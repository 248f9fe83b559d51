"""The operator's process: `python -m mcptasks_operator`. Settings, logs, signals, an exit code."""

import asyncio
import os
import signal
import sys
from typing import Final

import structlog
import uvloop
from kubernetes.aio.config import ConfigException

from mcptasks_crds.garbage import spare_collections
from mcptasks_crds.kube import DEEPEST_STACK, Kube, KubeError

from .errors import OperatorError, SettingsError
from .journal import configure_logging
from .service import Operator
from .settings import Settings

COLLECT_AFTER: Final = (5_000, 10, 10)
"""Python's thresholds for looking for cycles. kopf makes some at each event, on which no object hangs (`handlers`).
More rarely means longer at a time, and everything stands still meanwhile."""

_log = structlog.get_logger(__name__)


def main() -> None:
    """Run until SIGTERM or SIGINT. Exits with 2 for wrong settings, with 1 where Kubernetes should start it anew."""
    try:
        settings = Settings.from_environment(os.environ)
    except SettingsError as error:
        sys.stderr.write(f"mcptasks-operator: {error}\n")
        sys.exit(2)
    configure_logging(settings.log_level)
    sys.setrecursionlimit(DEEPEST_STACK)
    try:
        uvloop.run(_run(settings))
    except (OperatorError, KubeError, ConfigException, OSError) as error:
        _log.error("failed", error=str(error))  # what an operator's user needs is the message
        sys.exit(1)


async def _run(settings: Settings) -> None:
    spare_collections(COLLECT_AFTER)
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    async with await Kube.connect(kubeconfig=settings.kubeconfig, context=settings.context) as kube:
        await Operator(settings=settings, kube=kube, cluster=kube).run(stopping)


if __name__ == "__main__":
    main()
