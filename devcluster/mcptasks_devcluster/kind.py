"""The kind provider: a cluster by the real kind, where a container engine answers."""

import shutil
from pathlib import Path

from mcptasks_devcluster.build import binary, ensure
from mcptasks_devcluster.errors import CommandError, UnavailableError
from mcptasks_devcluster.images import export_image
from mcptasks_devcluster.paths import ClusterPaths
from mcptasks_devcluster.record import Record
from mcptasks_devcluster.shell import answers, run, say

STAND_IN = Path(__file__).parent.parent / "bin" / "kind"


def engine() -> str | None:
    """The container engine that answers; kind calls it a provider of its own."""
    for name in ("docker", "podman"):
        if shutil.which(name) and answers([name, "info"]):
            return name
    return None


def engine_answers() -> bool:
    """Whether kind can work here."""
    return engine() is not None


class KindCluster:
    """One cluster made by kind, under the same name."""

    def __init__(self, paths: ClusterPaths) -> None:
        self.paths = paths

    def up(self, *, image: str | None = None, config: str | None = None) -> None:
        """Create it, unless it exists; the kubeconfig is written anew either way."""
        exists = self.exists()  # before the record: where there is no engine, nothing is to be cleaned up
        Record(name=self.paths.name, provider="kind", size="full").write(self.paths.record)
        if exists:
            self._kind("export", "kubeconfig", "--name", self.paths.name, "--kubeconfig", str(self.paths.kubeconfig))
            say(f"devcluster: {self.paths.name} is up (kind)")
            return
        say(f"devcluster: creating {self.paths.name} with kind")
        self._kind(*create_arguments(self.paths.name, self.paths.kubeconfig, image=image, config=config))

    def down(self) -> None:
        """Delete it; kind does not mind if there is none."""
        if engine() is not None:
            self._kind("delete", "cluster", "--name", self.paths.name)
        if self.paths.state.exists():
            shutil.rmtree(self.paths.state)

    def exists(self) -> bool:
        """Whether kind knows a cluster of this name."""
        return self.paths.name in self._kind("get", "clusters").split()

    def load(self, image: str) -> None:
        """A docker archive by path, an image of the engine's by name, or one of buildah's."""
        if Path(image).is_file():
            self._kind("load", "image-archive", image, "--name", self.paths.name)
            return
        try:
            self._kind("load", "docker-image", image, "--name", self.paths.name)
        except CommandError:
            archive = self.paths.state / "load.tar"
            try:
                export_image(image, archive)
                self._kind("load", "image-archive", str(archive), "--name", self.paths.name)
            finally:
                archive.unlink(missing_ok=True)

    def _kind(self, *arguments: str) -> str:
        chosen = engine()
        if chosen is None:
            raise UnavailableError("kind needs a Docker or podman engine that answers; --provider local needs none")
        env = {"KIND_EXPERIMENTAL_PROVIDER": chosen} if chosen != "docker" else {}
        return run([kind_program(), *arguments], env=env)


def create_arguments(name: str, kubeconfig: Path, *, image: str | None, config: str | None) -> list[str]:
    """What kind is told; it waits for the node itself."""
    arguments = ["create", "cluster", "--name", name, "--kubeconfig", str(kubeconfig), "--wait", "180s"]
    if image is not None:
        arguments += ["--image", image]
    if config is not None:
        arguments += ["--config", config]
    return arguments


def kind_program() -> str:
    """kind from PATH, unless that is our own stand-in; else the pinned one, built."""
    found = shutil.which("kind")
    if found is not None and Path(found).resolve() != STAND_IN.resolve():
        return found
    ensure(["kind"])
    return str(binary("kind"))
