"""The local provider: a control plane, and unless it is light a node, from programs built here.

``up`` and ``down`` exclude each other by a lock. ``down`` trusts no file: it ends the processes that carry the
cluster's mark, then removes control groups by name, then the state directory; so it also cleans up after a crash
anywhere.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mcptasks_devcluster import cgroups
from mcptasks_devcluster.build import ensure
from mcptasks_devcluster.controlplane import Tuning
from mcptasks_devcluster.debian import ensure_packages
from mcptasks_devcluster.errors import DevclusterError, UnavailableError, WrongClusterError
from mcptasks_devcluster.images import export_image
from mcptasks_devcluster.layout import free_port, lay_out_full, lay_out_light
from mcptasks_devcluster.locks import exclusive
from mcptasks_devcluster.netns import listener_inside
from mcptasks_devcluster.node import ADDRESS, CONTAINERD_SOCKET
from mcptasks_devcluster.paths import ClusterPaths
from mcptasks_devcluster.polling import becomes_so
from mcptasks_devcluster.processes import MARK, end_all, marked, namespace_init
from mcptasks_devcluster.readiness import is_up, wait_until_up
from mcptasks_devcluster.record import Record, Size, read_record
from mcptasks_devcluster.report import read_report
from mcptasks_devcluster.shell import run, say
from mcptasks_devcluster.versions import FULL, LIGHT

_READY_WITHIN = 180.0
_RESTARTED_WITHIN = 30.0
_RECOVERED_WITHIN = 30.0
_NAMESPACES = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


class LocalCluster:
    """One cluster of the local provider."""

    def __init__(self, paths: ClusterPaths) -> None:
        self.paths = paths

    def up(self, *, size: Size, tuning: Tuning) -> None:
        """Start it, unless it is up; whatever is left of a broken one is removed first."""
        with self._locked():
            if self._is_already_up(size):
                say(f"devcluster: {self.paths.name} is up")
                return
            self._clean()
            if size == "full":
                if os.geteuid() != 0:
                    raise UnavailableError("a whole local cluster needs root for its namespaces; --light does not")
                ensure_packages()
            ensure(FULL if size == "full" else LIGHT)
            say(f"devcluster: starting {self.paths.name} ({size}); logs in {self.paths.logs}")
            record = self._start_full(tuning) if size == "full" else self._start_light(tuning)
            wait_until_up(self.paths, record, timeout=_READY_WITHIN)

    def down(self) -> None:
        """Remove every trace; nothing to remove is fine."""
        with self._locked():
            self._clean()
            self.paths.lock.unlink(missing_ok=True)

    def load(self, image: str) -> None:
        """Put an image (a docker archive's path, or a name in a local storage) onto the node."""
        init = self._init()
        with _archive(image, self.paths.state / "load.tar") as archive, archive.open("rb") as content:
            ctr = ["ctr", "--address", str(CONTAINERD_SOCKET), "--namespace", "k8s.io"]
            print(run([*enter_command(init), *ctr, "images", "import", "-"], stdin=content).strip())

    def execute(self, argv: Sequence[str]) -> int:
        """Run a program inside the cluster's namespaces, its standard streams being ours."""
        return subprocess.run([*enter_command(self._init()), *argv], check=False).returncode

    def listen(self) -> tuple[socket.socket, str]:
        """A socket of this process that pods reach, and its address there: `HOST:PORT`."""
        listener = listener_inside(self._init())
        return listener, f"{ADDRESS}:{listener.getsockname()[1]}"

    @property
    def first_process(self) -> int:
        """The process that all others of the cluster descend from, the pods' too."""
        return self._init()

    def restart(self, component: str) -> None:
        """Kill one component and wait until the supervisor has started it again."""
        before = read_report(self.paths).components.get(component)
        if before is None:
            known = ", ".join(read_report(self.paths).components)
            raise WrongClusterError(f"{self.paths.name} has no component {component!r}; it has: {known}")
        if before.pid is not None:
            os.kill(before.pid, signal.SIGKILL)

        def started_again() -> bool:
            now = read_report(self.paths).components[component]
            return now.pid is not None and now.starts > before.starts

        if not becomes_so(started_again, within=_RESTARTED_WITHIN):
            raise DevclusterError(f"{component} was not started again; see {self.paths.logs}")

    def _is_already_up(self, size: Size) -> bool:
        record = read_record(self.paths.record)
        if record is None:
            return False

        def up_or_dead() -> bool:
            return is_up(self.paths, record) or not marked(self.paths.state)

        # Somebody may be using it: what is only slow, or starting a component again, is waited for and not torn down.
        if not becomes_so(up_or_dead, within=_RECOVERED_WITHIN) or not marked(self.paths.state):
            return False
        if record.size != size and size == "full":
            raise WrongClusterError(f"{self.paths.name} is up and light; take it down first, or use another --name")
        return True

    def _start_light(self, tuning: Tuning) -> Record:
        record = Record(name=self.paths.name, provider="local", size="light", port=free_port())
        record.write(self.paths.record)
        lay_out_light(self.paths, port=record.port, tuning=tuning)
        self._start_supervisor(namespaces=(), listener=None)
        return record

    def _start_full(self, tuning: Tuning) -> Record:
        # The host's side of the way in: made here, handed down to the process inside that accepts on it.
        with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
            record = Record(name=self.paths.name, provider="local", size="full", port=listener.getsockname()[1])
            record.write(self.paths.record)
            lay_out_full(self.paths, port=record.port, tuning=tuning)
            cgroups.create(self.paths.control_group)
            self._start_supervisor(namespaces=_NAMESPACES, listener=listener.fileno())
        return record

    def _start_supervisor(self, *, namespaces: tuple[str, ...], listener: int | None) -> None:
        argv = [*namespaces, sys.executable, "-m", "mcptasks_devcluster.supervisor", str(self.paths.state)]
        if listener is not None:
            argv.append(str(listener))
        source = str(Path(__file__).parent.parent)
        with (self.paths.logs / "supervisor.log").open("ab") as log:
            subprocess.Popen(
                argv,
                env=supervisor_environment(self.paths.state, source),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=() if listener is None else (listener,),
            )

    def _clean(self) -> None:
        if ended := end_all(self.paths.state):
            say(f"devcluster: ended {ended} processes of {self.paths.name}")
        cgroups.remove(self.paths.control_group)
        if self.paths.state.exists():
            shutil.rmtree(self.paths.state)

    def _init(self) -> int:
        init = namespace_init(self.paths.state)
        if init is None:
            light = bool(marked(self.paths.state))
            raise WrongClusterError(f"{self.paths.name} is {'light: it has no node' if light else 'not up'}")
        return init

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with exclusive(self.paths.lock):
            yield


def supervisor_environment(state: Path, source: str) -> dict[str, str]:
    """Little: the mark, a path, and no proxies or Python settings of whoever called ``up``."""
    return {
        MARK: str(state),
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": os.environ.get("HOME", "/"),
        "LANG": "C.UTF-8",
        "PYTHONPATH": source,
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def enter_command(init: int) -> list[str]:
    """The prefix that runs a program inside; it starts in the root directory, so paths must be absolute."""
    return ["nsenter", "--target", str(init), "--net", "--mount", "--pid", "--"]


@contextmanager
def _archive(image: str, target: Path) -> Iterator[Path]:
    """A path is used as it is; a name is exported from where it was built."""
    if Path(image).is_file():
        yield Path(image)
        return
    try:
        export_image(image, target)
        yield target
    finally:
        target.unlink(missing_ok=True)
