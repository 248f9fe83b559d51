"""The context provider: a cluster that somebody named. It is used, never changed, and ``down`` leaves it alone."""

import json
import shutil

from mcptasks_devcluster.errors import UnavailableError
from mcptasks_devcluster.kubeconfig import write_kubeconfig
from mcptasks_devcluster.paths import ClusterPaths
from mcptasks_devcluster.programs import program
from mcptasks_devcluster.providers import Named
from mcptasks_devcluster.record import Record
from mcptasks_devcluster.shell import run, say


class ContextCluster:
    """Somebody's cluster under a name of ours: a copy of the one context of the kubeconfig."""

    def __init__(self, paths: ClusterPaths) -> None:
        self.paths = paths

    def up(self, named: Named) -> None:
        """Copy the named context, and see that it answers."""
        kubectl = program("kubectl", prefer_path=True)
        env = {"KUBECONFIG": named.kubeconfig} if named.kubeconfig else {}
        content = json.loads(run([kubectl, *view_arguments(named)], env=env))
        Record(name=self.paths.name, provider="context", size="full").write(self.paths.record)
        write_kubeconfig(self.paths.kubeconfig, content)
        run([kubectl, "--kubeconfig", self.paths.kubeconfig, "version", "--request-timeout=20s"])
        say(f"devcluster: {self.paths.name} is the context {content['current-context']}")

    def down(self) -> None:
        """Forget it."""
        if self.paths.state.exists():
            shutil.rmtree(self.paths.state)

    def load(self, image: str) -> None:
        """Refused: how images get there is known to whoever runs that cluster."""
        raise UnavailableError(
            f"{self.paths.name} is somebody's cluster: push {image} to a registry that it pulls from"
        )


def view_arguments(named: Named) -> list[str]:
    """One context, with its credentials inside."""
    context = ["--context", named.context] if named.context else []
    return ["config", "view", "--raw", "--minify", "--flatten", "--output", "json", *context]
