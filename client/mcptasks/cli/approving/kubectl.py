"""kubectl, run as a program: with the user's own kubeconfig, and whatever that needs to log in."""

import asyncio
import json
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcptasks.errors import ArgumentsError, McptasksError

RESOURCE: Final = "mcptasks.mcptasks.dev"
REQUEST_TIMEOUT: Final = "30s"
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]*")


class KubectlError(McptasksError):
    """kubectl could not do what it was asked; the message is its own."""


@dataclass(frozen=True, kw_only=True)
class User:
    """Somebody, as the API server knows them."""

    name: str
    groups: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Kubectl:
    """kubectl, for one namespace."""

    command: tuple[str, ...]
    namespace: str | None = None
    """None: what the kubeconfig says."""

    async def task(self, name: str) -> Mapping[str, Any]:
        """A task.

        Raises:
            ArgumentsError: it is no name of a task.
            KubectlError: there is none, or it cannot be read.
        """
        if _NAME.fullmatch(name) is None:  # kubectl would take it for an option, or for all tasks
            raise ArgumentsError(f"{name!r} is no task's id")
        found: Mapping[str, Any] = await self._json("get", RESOURCE, name)
        return found

    async def waiting_tasks(self, *, everywhere: bool) -> list[Mapping[str, Any]]:
        """The tasks that wait for answers, of the namespace or of all."""
        scope = ["--all-namespaces"] if everywhere else []
        listed = await self._json("get", RESOURCE, *scope, "--field-selector", "status.phase=InputRequired")
        found: list[Mapping[str, Any]] = listed["items"]
        return found

    async def user(self) -> User:
        """Who asks."""
        review = await self._json("auth", "whoami")
        info = review["status"]["userInfo"]
        return User(name=info["username"], groups=frozenset(info.get("groups", ())))

    async def patch(self, name: str, patch: Mapping[str, Any]) -> None:
        """Patch a task.

        Raises:
            KubectlError: it is refused.
        """
        await self._run("patch", RESOURCE, name, "--type", "merge", "--patch", json.dumps(patch, ensure_ascii=False))

    async def _json(self, *arguments: str) -> Any:
        text = await self._run(*arguments, "--output", "json")
        try:
            return json.loads(text)
        except ValueError as error:
            raise KubectlError(f"{shlex.join(self.command)} {arguments[0]}: the answer is not JSON") from error

    async def _run(self, *arguments: str) -> str:
        scope = [] if self.namespace is None else ["--namespace", self.namespace]
        command = [*self.command, *arguments, *scope, "--request-timeout", REQUEST_TIMEOUT]
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                # A login may ask at the terminal; from a pipe there is nothing for it to read.
                stdin=None if sys.stdin is not None and sys.stdin.isatty() else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise KubectlError(
                f"{command[0]} cannot be run ({error.strerror}): approvers need kubectl (--kubectl names another one)"
            ) from error
        try:
            out, said = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise KubectlError(said.decode(errors="replace").strip() or f"{command[0]} failed without a word")
        return out.decode(errors="replace")


def kubectl_of(command: str, *, namespace: str | None) -> Kubectl:
    """kubectl, by the words of the command line.

    Raises:
        ArgumentsError: they are none.
    """
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise ArgumentsError(f"--kubectl: {error}") from error
    if not words:
        raise ArgumentsError("--kubectl: is empty")
    return Kubectl(command=words, namespace=namespace)
