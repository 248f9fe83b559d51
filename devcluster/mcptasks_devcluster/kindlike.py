"""What pytest-kind asks of kind, answered with any of this tool's clusters; ``devcluster/bin/kind`` runs it.

The unmodified plugin's ``kind_cluster`` fixture then works where kind does not. Two answers differ from kind's, both
to make a cluster that is up already usable and safe:

- ``get clusters`` lists none. The plugin takes the kubeconfig of a listed cluster to be written already, which is so
  only in the directory where it was created; it creates an unlisted one, which is quick when it is up.
- ``delete cluster`` removes only what ``create cluster`` started; a cluster that was up before stays up.

``MCPTASKS_PROVIDER`` chooses the provider as ``up --provider`` does; ``MCPTASKS_LIGHT=1`` means ``up --light``.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import get_args

from mcptasks_devcluster.clusters import bring_up, existing, provider_of, status, take_down
from mcptasks_devcluster.controlplane import Tuning
from mcptasks_devcluster.errors import DevclusterError, WrongClusterError
from mcptasks_devcluster.kubeconfig import load_kubeconfig, merged, write_kubeconfig
from mcptasks_devcluster.paths import ClusterPaths, cluster_paths
from mcptasks_devcluster.providers import Choice, named_cluster
from mcptasks_devcluster.record import Size
from mcptasks_devcluster.shell import say

_DEFAULT_NAME = "kind"


def main(argv: list[str]) -> int:
    """As kind: 0 or 1, and messages on stderr."""
    options = parser().parse_args(argv)
    command: Callable[[argparse.Namespace], None] = options.command
    try:
        command(options)
    except DevclusterError as error:
        say(f"ERROR: {error}")
        return 1
    return 0


def parser() -> argparse.ArgumentParser:
    """The part of kind's command line that pytest-kind uses."""
    root = argparse.ArgumentParser(prog="kind", description="A stand-in for kind; see mcptasks_devcluster.kindlike.")
    verbs = root.add_subparsers(required=True, metavar="COMMAND")

    listing = verbs.add_parser("get").add_subparsers(required=True, metavar="WHAT").add_parser("clusters")
    listing.set_defaults(command=_get_clusters)

    creating = verbs.add_parser("create").add_subparsers(required=True, metavar="WHAT").add_parser("cluster")
    creating.add_argument("--name", default=_DEFAULT_NAME)
    creating.add_argument("--kubeconfig", type=Path)
    creating.add_argument("--image")
    creating.add_argument("--config")
    creating.set_defaults(command=_create_cluster)

    loading = verbs.add_parser("load").add_subparsers(required=True, metavar="WHAT").add_parser("docker-image")
    loading.add_argument("images", nargs="+")
    loading.add_argument("--name", default=_DEFAULT_NAME)
    loading.set_defaults(command=_load_images)

    deleting = verbs.add_parser("delete").add_subparsers(required=True, metavar="WHAT").add_parser("cluster")
    deleting.add_argument("--name", default=_DEFAULT_NAME)
    deleting.add_argument("--kubeconfig", type=Path)
    deleting.set_defaults(command=_delete_cluster)
    return root


def provider_choice(environ: Mapping[str, str]) -> Choice:
    """What the environment asks for."""
    wanted = environ.get("MCPTASKS_PROVIDER", "auto")
    for choice in get_args(Choice):
        if wanted == choice:
            return choice  # type: ignore[no-any-return]  # get_args gives the literals as Any
    raise WrongClusterError(f"MCPTASKS_PROVIDER is one of {', '.join(get_args(Choice))}, not {wanted!r}")


def size_choice(environ: Mapping[str, str]) -> Size:
    """What the environment asks for."""
    return "light" if environ.get("MCPTASKS_LIGHT", "0") not in ("", "0") else "full"


def _get_clusters(_: argparse.Namespace) -> None:
    say("No kind clusters found.")


def _create_cluster(options: argparse.Namespace) -> None:
    was_up = bool(status(options.name)["ready"])
    paths = bring_up(
        options.name,
        choice=provider_choice(os.environ),
        size=size_choice(os.environ),
        named=named_cluster(kubeconfig=None, context=None),
        tuning=Tuning(),
        image=options.image,
        config=options.config,
    )
    if not was_up:
        _mark_of_creation(paths).touch()
    if options.kubeconfig is None:
        say(f"the kubeconfig is {paths.kubeconfig}")
    else:
        both = merged(load_kubeconfig(options.kubeconfig), load_kubeconfig(paths.kubeconfig))
        write_kubeconfig(options.kubeconfig, both)


def _load_images(options: argparse.Namespace) -> None:
    paths, _ = existing(options.name)
    for image in options.images:
        provider_of(paths).load(image)


def _delete_cluster(options: argparse.Namespace) -> None:
    paths = cluster_paths(options.name)
    if not _mark_of_creation(paths).exists():
        say(f"{options.name} was not created by this command: left as it is")
        return
    take_down(options.name)


def _mark_of_creation(paths: ClusterPaths) -> Path:
    return paths.state / "created-by-kindlike"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
