"""The decorators by which an author makes tools, prompts and resources of functions.

    pack = ToolPack("weather")

    @pack.tool(annotations={"readOnlyHint": True})
    async def forecast(city: str, days: int = 3) -> Forecast:
        "The weather of the next days."

Each decorator gives the function back as it was, so it can be called and tested without any of this. Everything is
checked here, when the module is imported; `PackError` names what is wrong. A pack does not change once it is loaded.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

import orjson
from mcp_types import Icon, ToolAnnotations
from pydantic import TypeAdapter, ValidationError

from mcptasks_crds.mirrored import annotations_are_valid, mirrored_parameters
from mcptasks_crds.names import COMPANION_TOOLS, RESOURCE_SCHEME, TOOL_NAME_PATTERN, is_own_uri
from mcptasks_crds.schemas import Schema, SchemaError
from mcptasks_crds.secretarguments import argument_schema

from .entries import CompletionEntry, Entries, PromptEntry, ResourceEntry, TemplateEntry, ToolEntry
from .errors import PackError
from .results import output_of
from .signatures import Function, Signature, description_of, signature_of
from .uri_templates import uri_template

FunctionT = TypeVar("FunctionT", bound=Function)


class Decorator(Protocol):
    """Gives the function back as it was."""

    def __call__(self, function: FunctionT, /) -> FunctionT:
        """Register the function."""
        ...


CALL_SECONDS: Final = 10.0
"""How long a call may take, where its tool says nothing else. What takes longer should be a task."""
MOST_CALL_SECONDS: Final = 60.0
_ICONS: Final[TypeAdapter[list[Icon]]] = TypeAdapter(list[Icon])


class ToolPack:
    """A named set of tools, prompts and resources that run in the server's own process."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.entries: Final = Entries()

    def tool(
        self,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: ToolAnnotations | Mapping[str, Any] | None = None,
        icons: Sequence[Icon | Mapping[str, Any]] = (),
        meta: Mapping[str, Any] | None = None,
        input_schema: Mapping[str, Any] | str | None = None,
        output_schema: Mapping[str, Any] | None = None,
        seconds: float = CALL_SECONDS,
    ) -> Decorator:
        """Make a tool of a function. Its name and its docstring are the tool's, unless others are given.

        Args:
            input_schema: the arguments' JSON Schema, listed exactly as it is (a mapping, or JSON text). The function
                then has one parameter beside its context: it takes all arguments as one object; or it has none.
            output_schema: of the structured result, where the return type does not say it.
            seconds: how long a call may take, 60 at most.
            annotations, icons, meta: as MCP has them.

        Raises:
            PackError: the tool cannot be served.
        """

        def register(function: FunctionT) -> FunctionT:
            tool = name or function.__name__
            where = self._where("tool", tool)
            if not re.fullmatch(TOOL_NAME_PATTERN, tool):
                raise PackError(f"{where}: a tool's name is 1 to 128 of A-Z, a-z, 0-9, _, . and -")
            if tool in COMPANION_TOOLS:
                raise PackError(f"{where}: this is one of the server's own tools: choose another name")
            signature = signature_of(function, where=where)
            schema, text = _input_schema(signature, input_schema, where=where)
            self._add(
                self.entries.tools,
                tool,
                ToolEntry(
                    **self._described(tool, where=where, seconds=seconds, icons=icons),
                    title=title,
                    description=description or description_of(function) or tool,
                    meta=meta,
                    signature=signature,
                    input_schema=schema,
                    input_schema_text=text,
                    arguments=_compiled(schema, where=where),
                    mirrored=mirrored_parameters(schema),
                    whole=_whole(signature, where=where) if input_schema is not None else None,
                    output=output_of(signature.returns, output_schema, where=where),
                    annotations=_annotations(annotations, where=where),
                ),
                where=where,
            )
            return function

        return register

    def prompt(
        self,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: Sequence[Icon | Mapping[str, Any]] = (),
        seconds: float = CALL_SECONDS,
    ) -> Decorator:
        """Make a prompt of a function: its parameters are the prompt's arguments, which always arrive as texts.

        It gives a text or a content block (the user's message), a PromptMessage, several of them, or a GetPromptResult.

        Raises:
            PackError: the prompt cannot be served.
        """

        def register(function: FunctionT) -> FunctionT:
            prompt = name or function.__name__
            where = self._where("prompt", prompt)
            entry = PromptEntry(
                **self._described(prompt, where=where, seconds=seconds, icons=icons),
                title=title,
                description=description or description_of(function),
                signature=signature_of(function, where=where),
            )
            self._add(self.entries.prompts, prompt, entry, where=where)
            return function

        return register

    def resource(
        self,
        uri: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        icons: Sequence[Icon | Mapping[str, Any]] = (),
        seconds: float = CALL_SECONDS,
    ) -> Decorator:
        """Make a resource of a function. It gives a text, bytes, MCP's own contents, or several of them.

        Raises:
            PackError: the resource cannot be served.
        """

        def register(function: FunctionT) -> FunctionT:
            where = self._where("resource", uri)
            _check_scheme(uri, where=where)
            signature = signature_of(function, where=where)
            if signature.parameters:
                raise PackError(f"{where}: nobody could fill its parameters; a resource_template has variables")
            entry = ResourceEntry(
                **self._described(name or function.__name__, where=where, seconds=seconds, icons=icons),
                title=title,
                description=description or description_of(function),
                signature=signature,
                uri=uri,
                mime_type=mime_type,
            )
            self._add(self.entries.resources, uri, entry, where=where)
            return function

        return register

    def resource_template(
        self,
        template: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        icons: Sequence[Icon | Mapping[str, Any]] = (),
        seconds: float = CALL_SECONDS,
    ) -> Decorator:
        """Make many resources of a function, such as `docs://{id}`: the template's variables are its parameters.

        It may raise `ResourceNotFoundError`.

        Raises:
            PackError: the template cannot be served.
        """

        def register(function: FunctionT) -> FunctionT:
            where = self._where("resource template", template)
            _check_scheme(template, where=where)
            signature = signature_of(function, where=where)
            try:
                compiled = uri_template(template)
            except ValueError as error:
                raise PackError(f"{where}: {error}") from error
            if set(compiled.names) != set(signature.parameters):
                raise PackError(f"{where}: the function's parameters must be the template's variables")
            entry = TemplateEntry(
                **self._described(name or function.__name__, where=where, seconds=seconds, icons=icons),
                title=title,
                description=description or description_of(function),
                signature=signature,
                template=compiled,
                mime_type=mime_type,
            )
            self._add(self.entries.templates, template, entry, where=where)
            return function

        return register

    def completion(self, ref: str, argument: str, *, seconds: float = CALL_SECONDS) -> Decorator:
        """Complete an argument of a prompt (`ref`: its name) or of a resource template (`ref`: the template).

        The function takes what was typed so far, and if it has a second parameter, the arguments that are known already
        as a mapping; it gives the values that fit, best first.

        Raises:
            PackError: it cannot be served.
        """

        def register(function: FunctionT) -> FunctionT:
            where = self._where("completion", f"{argument} of {ref}")
            signature = signature_of(function, where=where)
            if not 1 <= len(signature.parameters) <= 2:
                raise PackError(f"{where}: it takes what was typed, and at most the other arguments beside it")
            entry = CompletionEntry(
                pack=self.name, ref=ref, argument=argument, signature=signature, seconds=_checked(seconds, where=where)
            )
            self._add(self.entries.completions, (ref, argument), entry, where=where)
            return function

        return register

    def _where(self, kind: str, name: str) -> str:
        return f"tool pack {self.name}: {kind} {name}"

    def _described(
        self, name: str, *, where: str, seconds: float, icons: Sequence[Icon | Mapping[str, Any]]
    ) -> dict[str, Any]:
        try:
            checked = _ICONS.validate_python(list(icons))
        except ValidationError as error:
            raise PackError(f"{where}: its icons are not what MCP has") from error
        return {"pack": self.name, "name": name, "seconds": _checked(seconds, where=where), "icons": checked}

    def _add(self, entries: dict[Any, Any], key: object, entry: object, *, where: str) -> None:
        if key in entries:
            raise PackError(f"{where}: there are two of it")
        entries[key] = entry


def _check_scheme(uri: str, *, where: str) -> None:
    if is_own_uri(uri):
        raise PackError(f"{where}: the scheme {RESOURCE_SCHEME} is kept for tasks: choose another one")


def _checked(seconds: float, *, where: str) -> float:
    if not 0 < seconds <= MOST_CALL_SECONDS:
        raise PackError(f"{where}: a call may take up to {MOST_CALL_SECONDS:g} s: what takes longer should be a task")
    return seconds


def _input_schema(
    signature: Signature, given: Mapping[str, Any] | str | None, *, where: str
) -> tuple[Mapping[str, Any], str]:
    try:
        if isinstance(given, str):
            # On one line, as an event stream needs it; inside its strings JSON has no line breaks.
            text = given.replace("\n", " ").replace("\r", " ")
        else:
            text = orjson.dumps(signature.schema if given is None else given).decode()
        schema = orjson.loads(text)
    except (TypeError, ValueError) as error:
        raise PackError(f"{where}: the input schema is not JSON") from error
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise PackError(f'{where}: the input schema must say "type": "object"')
    if not annotations_are_valid(schema):
        raise PackError(f"{where}: x-mcp-header stands where it may not: clients would drop the tool")
    return schema, text


def _compiled(schema: Mapping[str, Any], *, where: str) -> Schema:
    try:
        return argument_schema(schema)
    except SchemaError as error:
        raise PackError(f"{where}: the input schema is not valid: {error}") from error


def _whole(signature: Signature, *, where: str) -> str | None:
    if len(signature.parameters) > 1:
        raise PackError(f"{where}: with an input schema of its own it takes all arguments as one object")
    return next(iter(signature.parameters), None)


def _annotations(given: ToolAnnotations | Mapping[str, Any] | None, *, where: str) -> ToolAnnotations | None:
    try:
        return given if given is None else ToolAnnotations.model_validate(given)
    except ValidationError as error:
        raise PackError(f"{where}: its annotations are not what MCP has") from error
