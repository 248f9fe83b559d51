"""Whether a tool is fit to be called, as far as that can be said without a cluster.

What remains is asked of the API server: it tries `trial_job` in a server-side dry run with strict fields.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from mcptasks_crds import arguments, limits, names
from mcptasks_crds.forms import check_form_schema
from mcptasks_crds.metadata import Metadata
from mcptasks_crds.mirrored import ANNOTATION, annotations_are_valid, mirrored_parameters
from mcptasks_crds.questions import as_asked
from mcptasks_crds.schemas import Schema, SchemaError
from mcptasks_crds.secretarguments import holds_secret, secret_properties
from mcptasks_crds.task import McpTask, TaskSpec, ToolReference
from mcptasks_crds.tool import McpTool

from .errors import JobRefusedError
from .jobs import render_unchecked
from .scripts import unsafe_expansions
from .templates import read_template

_TRIAL_UID: Final = "00000000-0000-0000-0000-000000000000"
_DEFINED: Final = ("$defs", "definitions")


class ToolFault(StrEnum):
    """Why a tool is not ready: the reason of its condition."""

    SCHEMA_INVALID = "SchemaInvalid"
    """A schema does not compile, or is not one of an object."""
    SCHEMA_UNSUPPORTED = "SchemaUnsupported"
    """A schema asks for something that this version does not do."""
    QUESTION_INVALID = "QuestionInvalid"
    """A question asks for what no client can show, or is too large."""
    JOB_REFUSED = "JobRefused"
    """No Job can be made of its pod template."""
    UNSAFE_EXPANSION = "UnsafeExpansion"
    """Its command would run what a caller writes."""
    NAME_TAKEN = "NameTaken"
    """An older tool has the name."""


@dataclass(frozen=True, kw_only=True)
class ToolProblem:
    """One thing that is wrong with a tool."""

    fault: ToolFault
    field: str
    """Where, under `spec`; empty where the message names the field itself."""
    message: str
    """What, and where it helps what to do, for people."""

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


def tool_problems(tool: McpTool) -> tuple[ToolProblem, ...]:
    """What is wrong with a tool, the most basic first; empty where only the API server can say more."""
    return (*_schema_problems(tool), *_question_problems(tool), *_template_problems(tool))


def environment_gap(tool: McpTool) -> str | None:
    """Which properties are only in the file, in a sentence for people; None where each has its variable."""
    try:
        missing = arguments.properties_without_variable(tool.spec.input_schema)
    except RecursionError:  # a default that nobody can write; `tool_problems` says so
        return None
    if not missing:
        return None
    listed = "; ".join(f"{name}: {reason}" for name, reason in missing.items())
    return f"These properties have no variable and are only in the file $MCPTASK_ARGUMENTS: {listed}"


def trial_job(tool: McpTool, *, assign_uid: bool = True, endpoint: str | None = None) -> dict[str, Any]:
    """The Job of a call without arguments, for a server-side dry run. It must not be created.

    Raises:
        JobRefusedError: there can be no Job; `tool_problems` says so too.
    """
    return render_unchecked(_trial_task(tool), tool, assign_uid=assign_uid, endpoint=endpoint)


def name_conflicts(tools: Iterable[McpTool]) -> Mapping[str, ToolProblem]:
    """The tools, by resource name, that have the MCP name of an older one: the oldest has it."""
    owners: dict[str, McpTool] = {}
    conflicts: dict[str, ToolProblem] = {}
    for tool in sorted(tools, key=_age):
        owner = owners.setdefault(tool.name, tool)
        if owner is not tool:
            message = f"{tool.name}: the older McpTool {owner.metadata.name} has this name"
            conflicts[tool.metadata.name] = ToolProblem(fault=ToolFault.NAME_TAKEN, field="name", message=message)
    return conflicts


def _schema_problems(tool: McpTool) -> Iterator[ToolProblem]:
    for field, schema in (("inputSchema", tool.spec.input_schema), ("outputSchema", tool.spec.output_schema)):
        if schema is None:
            continue
        try:
            Schema(schema)
        except SchemaError as error:
            yield ToolProblem(fault=ToolFault.SCHEMA_INVALID, field=field, message=str(error))
            continue
        if schema.get("type") != "object":
            message = f"must be object, not {schema.get('type', 'absent')}: MCP has no other"
            yield ToolProblem(fault=ToolFault.SCHEMA_INVALID, field=f"{field}.type", message=message)
    if not annotations_are_valid(tool.spec.input_schema):
        yield ToolProblem(
            fault=ToolFault.SCHEMA_INVALID,
            field="inputSchema",
            message=f"{ANNOTATION}: each must be an HTTP token, used once, at a string, integer or boolean that "
            "properties lead to: MCP clients drop a tool that breaks this",
        )
    elsewhere = {word: part for word, part in tool.spec.input_schema.items() if word not in ("properties", *_DEFINED)}
    if holds_secret(elsewhere, tool.spec.input_schema):
        yield ToolProblem(
            fault=ToolFault.SCHEMA_UNSUPPORTED,
            field="inputSchema",
            message="writeOnly outside of properties: which arguments are secret must be said where they are named",
        )
    secrets = secret_properties(tool.spec.input_schema)
    for mirrored in mirrored_parameters(tool.spec.input_schema):
        if mirrored.path[0] in secrets:
            yield ToolProblem(
                fault=ToolFault.SCHEMA_UNSUPPORTED,
                field=f"inputSchema.properties.{mirrored.path[0]}",
                message=f"{ANNOTATION} at a secret (writeOnly): a header is seen by every proxy and may be logged",
            )


def _question_problems(tool: McpTool) -> Iterator[ToolProblem]:
    """What no client could show, and what a task could not keep, so that its creation would fail."""
    total = 0
    for question in tool.spec.questions:
        field = f"questions[{question.key}].requestedSchema"
        violation = check_form_schema(question.requested_schema)
        if violation is not None:
            yield ToolProblem(fault=ToolFault.QUESTION_INVALID, field=field, message=str(violation))
            continue  # and only a form is known to be flat enough to be written down
        size = limits.stored_bytes(as_asked([question])[question.key].requested_schema)
        total += size + limits.stored_bytes(question.message)
        if size > limits.QUESTION_SCHEMA_STORED_BYTES:
            message = f"takes {size} bytes as stored, at most {limits.QUESTION_SCHEMA_STORED_BYTES}: ask for less"
            yield ToolProblem(fault=ToolFault.QUESTION_INVALID, field=field, message=message)
    if total > limits.TOOL_QUESTIONS_STORED_BYTES:
        message = f"take {total} bytes as stored, at most {limits.TOOL_QUESTIONS_STORED_BYTES}: ask for less"
        yield ToolProblem(fault=ToolFault.QUESTION_INVALID, field="questions", message=message)


def _template_problems(tool: McpTool) -> Iterator[ToolProblem]:
    try:
        trial_job(tool)
        pod = read_template(tool.spec.job.template)["spec"]
    except JobRefusedError as error:
        yield ToolProblem(fault=ToolFault.JOB_REFUSED, field="", message=error.message)
        return
    for unsafe in unsafe_expansions(pod):
        yield ToolProblem(
            fault=ToolFault.UNSAFE_EXPANSION,
            field=unsafe.field,
            message=(
                f"$({unsafe.variable}) would become part of a program that {unsafe.program} runs, or choose it, so that"
                f' whoever calls the tool could run anything: write "${unsafe.variable}" there, which a shell reads'
                " from the environment, let the program read the variable or the arguments file, or give it as an"
                " element of its own to a program that does not interpret it"
            ),
        )


def _trial_task(tool: McpTool) -> McpTask:
    return McpTask(
        metadata=Metadata(name=names.TRIAL_TASK, namespace=tool.metadata.namespace, uid=_TRIAL_UID),
        spec=TaskSpec(tool=ToolReference(name=tool.name), arguments=arguments.EMPTY),
    )


def _age(tool: McpTool) -> tuple[datetime, str]:
    return tool.metadata.creation_timestamp or datetime.max.replace(tzinfo=UTC), tool.metadata.name
