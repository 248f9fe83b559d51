"""The command line: ``python -m mcptasks_devcluster COMMAND``.

Answers (a path, a status) go to stdout, progress and errors to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

from mcptasks_devcluster import pythonenvs
from mcptasks_devcluster.build import ensure
from mcptasks_devcluster.clusters import bring_up, existing, provider_of, status, status_json, status_text, take_down
from mcptasks_devcluster.controlplane import Tuning
from mcptasks_devcluster.errors import DevclusterError, WrongClusterError
from mcptasks_devcluster.local import LocalCluster
from mcptasks_devcluster.nodejs import install
from mcptasks_devcluster.paths import DEFAULT_NAME, cluster_paths, known_clusters
from mcptasks_devcluster.productimage.building import TARGETS, build_image
from mcptasks_devcluster.programs import program
from mcptasks_devcluster.providers import named_cluster
from mcptasks_devcluster.record import read_record
from mcptasks_devcluster.shell import say
from mcptasks_devcluster.versions import FULL, LIGHT

_LOG_LINES = 200


def main(argv: list[str]) -> int:
    """Parse, run one command, and turn this tool's errors into a message and an exit code."""
    options = parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except DevclusterError as error:
        say(f"devcluster: {error}")
        return 1
    except KeyboardInterrupt:
        say("devcluster: interrupted; what was started is removed by 'down'")
        return 130


def parser() -> argparse.ArgumentParser:
    """Every command and option."""
    root = argparse.ArgumentParser(
        prog="python -m mcptasks_devcluster",
        description="A real Kubernetes for tests and development: a named one, kind's, or one made here.",
    )
    commands = root.add_subparsers(required=True, metavar="COMMAND")

    up = _command(commands, "up", _up, "start the cluster, or see that it is up; prints its kubeconfig's path")
    up.add_argument("--light", action="store_true", help="etcd, API server and controllers only; needs no root")
    up.add_argument("--provider", choices=["auto", "context", "kind", "local"], default="auto")
    up.add_argument("--kubeconfig", help="use the cluster of this file (or MCPTASKS_KUBECONFIG)")
    up.add_argument("--context", help="use this context (or MCPTASKS_CONTEXT)")
    up.add_argument("--kcm-qps", type=int, default=20, help="kube-controller-manager's --kube-api-qps (default 20)")
    up.add_argument("--audit", action="store_true", help="write each request to the API server to run/audit.log")

    _command(commands, "down", _down, "remove every trace of the cluster")
    described = _command(commands, "status", _status, "say what is so")
    described.add_argument("--json", action="store_true", help="with each component's process id on this machine")
    load = _command(commands, "load", _load, "put an image onto the node")
    load.add_argument("image", metavar="IMAGE_OR_TAR", help="a docker archive, or a name in docker, podman or buildah")
    _command(commands, "kubeconfig", _kubeconfig, "print the kubeconfig's path")
    logs = _command(commands, "logs", _logs, "print the logs' directory, or a component's last lines")
    logs.add_argument("component", nargs="?")
    restart = _command(commands, "restart", _restart, "kill a component; it is started again")
    restart.add_argument("component")
    execute = _command(commands, "exec", _execute, "run a program inside the cluster's namespaces (absolute paths)")
    execute.add_argument("argv", nargs="+", metavar="PROGRAM")

    build = commands.add_parser("build", help="only build the programs of the local provider")
    build.add_argument("--light", action="store_true", help="only those of a light cluster")
    build.set_defaults(command=_build)
    shown = commands.add_parser("bin", help="print the path of a program that fits the cluster")
    shown.add_argument("program", choices=["kubectl", "helm"])
    shown.add_argument("--name", default=DEFAULT_NAME)
    shown.set_defaults(command=_bin)
    image = commands.add_parser("image", help="build the project's image; prints the path of its docker archive")
    image.add_argument("--target", choices=sorted(TARGETS), default="runtime", help="which of the Dockerfile's targets")
    image.add_argument("--tag", default="dev", help="the image's tag (default dev)")
    image.add_argument("--base", help="the base image (default: a registry's Python image, or one made here)")
    image.set_defaults(command=_image)
    npm = commands.add_parser("npm", help="install a set of npm packages that a lock file pins; prints where it is")
    npm.add_argument("directory", type=Path, help="holds package.json and package-lock.json")
    npm.set_defaults(command=_npm)
    pip = commands.add_parser("pip", help="install a set of Python packages in an environment of its own; prints where")
    pip.add_argument("directory", type=Path, help="holds requirements.txt, with hashes")
    pip.set_defaults(command=_pip)
    listed = commands.add_parser("list", help="print the names of all clusters")
    listed.set_defaults(command=_list)
    return root


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    function: Callable[[argparse.Namespace], int],
    help_text: str,
) -> argparse.ArgumentParser:
    added = commands.add_parser(name, help=help_text)
    added.add_argument("--name", default=DEFAULT_NAME, help=f"the cluster's name (default {DEFAULT_NAME})")
    added.set_defaults(command=function)
    return added


def _up(options: argparse.Namespace) -> int:
    paths = bring_up(
        options.name,
        choice=options.provider,
        size="light" if options.light else "full",
        named=named_cluster(kubeconfig=options.kubeconfig, context=options.context),
        tuning=Tuning(kcm_qps=options.kcm_qps, audit=options.audit),
    )
    print(paths.kubeconfig)
    return 0


def _down(options: argparse.Namespace) -> int:
    take_down(options.name)
    return 0


def _status(options: argparse.Namespace) -> int:
    content = status(options.name)
    print(status_json(content) if options.json else status_text(content))
    return 0 if content["ready"] else 1


def _load(options: argparse.Namespace) -> int:
    paths, _ = existing(options.name)
    provider_of(paths).load(options.image)
    return 0


def _kubeconfig(options: argparse.Namespace) -> int:
    paths, _ = existing(options.name)
    print(paths.kubeconfig)
    return 0


def _logs(options: argparse.Namespace) -> int:
    paths, _ = existing(options.name)
    if options.component is None:
        print(paths.logs)
        return 0
    log = paths.logs / f"{options.component}.log"
    if not log.exists():
        raise WrongClusterError(
            f"no {log.name} in {paths.logs}: {', '.join(sorted(p.stem for p in paths.logs.glob('*.log')))}"
        )
    print(*log.read_text(errors="replace").splitlines()[-_LOG_LINES:], sep="\n")
    return 0


def _restart(options: argparse.Namespace) -> int:
    _local(options.name).restart(options.component)
    return 0


def _execute(options: argparse.Namespace) -> int:
    return _local(options.name).execute(options.argv)


def _local(name: str) -> LocalCluster:
    paths, record = existing(name)
    if record.provider != "local":
        raise WrongClusterError(f"{name} is of provider {record.provider}; only the local provider can do that")
    return LocalCluster(paths)


def _build(options: argparse.Namespace) -> int:
    ensure(LIGHT if options.light else FULL)
    return 0


def _bin(options: argparse.Namespace) -> int:
    record = read_record(cluster_paths(options.name).record)
    print(program(options.program, prefer_path=record is not None and record.provider != "local"))
    return 0


def _image(options: argparse.Namespace) -> int:
    print(build_image(options.target, tag=options.tag, base=options.base))
    return 0


def _npm(options: argparse.Namespace) -> int:
    print(install(options.directory).path)
    return 0


def _pip(options: argparse.Namespace) -> int:
    print(pythonenvs.install(options.directory).path)
    return 0


def _list(_: argparse.Namespace) -> int:
    print(*known_clusters(), sep="\n")
    return 0
