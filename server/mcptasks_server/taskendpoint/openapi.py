"""The task endpoint's OpenAPI 3.1 document. Pure: made of the limits and names that the code itself uses."""

from typing import Any, Final

from mcptasks_crds import limits
from mcptasks_crds.names import PROGRESS_HEADER, TASKS_PATH
from mcptasks_crds.questions import DEFAULT_EXPIRY_SECONDS, MAX_EXPIRY_SECONDS

from .problems import CONTENT_TYPE

Json = dict[str, Any]

_PROBLEMS: Final = {
    "401": "No token, or none that is good: read `$MCPTASK_TOKEN_FILE` anew for each request.",
    "403": "The token is another task's, or of a pod that is not the task's current one.",
    "404": "No such question was asked.",
    "408": "The body did not arrive in time.",
    "409": "The task is over, or the same was said before in other words.",
    "413": "Larger than a task can keep; the detail names the limit.",
    "415": "The body is compressed.",
    "422": "Not what it must be; `field` names what is at fault.",
    "424": "The cluster refuses what the endpoint must do, and a repetition would not help.",
    "500": "Something went wrong that should not; it may be repeated.",
    "503": "Not yet: repeat the request after `Retry-After` seconds.",
}
_ALWAYS: Final = ("401", "403", "409", "422", "424", "500", "503")
_WITH_BODY: Final = (*_ALWAYS, "408", "413", "415")


def document() -> Json:
    """The document, as the endpoint serves it."""
    of_task = [_path_parameter("task", "The task's id: `$MCPTASK_ID`.", {"type": "string"})]
    key = _path_parameter(
        "key", "The question's name in this task.", {"type": "string", "pattern": limits.QUESTION_KEY_PATTERN}
    )
    task = f"{TASKS_PATH}/{{task}}"
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "mcptasks task endpoint",
            "version": "1",
            "description": "What the pod of a task says to mcptasks and asks of it. `$MCPTASK_URL` is the URL of the "
            "task. Every request may be repeated: nothing is done twice. Wherever PUT is taken, POST is too.",
        },
        "security": [{"pod": []}],
        "paths": {
            task: {"parameters": of_task, "get": _get_task()},
            f"{task}/progress": {"parameters": of_task, **_put("Progress", _progress())},
            f"{task}/questions/{{key}}": {
                "parameters": [*of_task, key],
                "get": _get_answer(),
                **_put("Question", _ask()),
            },
            f"{task}/content": {"parameters": of_task, "post": _with_body("Content", "post", _add_content())},
            f"{task}/result": {"parameters": of_task, **_put("Result", _result())},
        },
        "components": {
            "securitySchemes": {
                "pod": {"type": "http", "scheme": "bearer", "description": "The token in `$MCPTASK_TOKEN_FILE`."}
            },
            "schemas": _schemas(),
        },
    }


def _get_task() -> Json:
    return {
        "operationId": "getTask",
        "summary": "What was called, what was answered, and whether the task is being cancelled",
        "responses": _responses({"200": _json("The task.", "Task")}, _ALWAYS),
    }


def _progress() -> Json:
    return {
        "operationId": "putProgress",
        "summary": "Say how far it is",
        "description": "The newest value is shown within seconds; a value lower than an earlier one is passed over. "
        "Before an end that takes no progress along, say `wait`.",
        "parameters": [_wait("Seconds to wait until it is written.")],
        "responses": {
            "200": _json("Written, or passed over.", "Seen"),
            "202": _json("Taken, to be written soon.", "Seen"),
        },
    }


def _ask() -> Json:
    return {
        "operationId": "putQuestion",
        "summary": "Ask the people who may answer",
        "responses": {
            "200": _json("Asked before in the same words.", "Nothing"),
            "201": _json("Asked, durably.", "Nothing"),
        },
    }


def _get_answer() -> Json:
    return {
        "operationId": "getAnswer",
        "summary": "Wait for the answer to a question",
        "description": "Where nobody answered in time, or the task is being cancelled, the answer is `cancel`.",
        "parameters": [_wait("Seconds to wait.")],
        "responses": _responses(
            {"200": _json("The answer.", "Answered"), "202": _json("None yet: ask again.", "Seen")}, (*_ALWAYS, "404")
        ),
    }


def _add_content() -> Json:
    return {
        "operationId": "addContent",
        "summary": "Add parts that come before those of the result",
        "parameters": [
            {
                "name": "Idempotency-Key",
                "in": "header",
                "description": "A repetition with the same key adds nothing.",
                "schema": {"type": "string"},
            }
        ],
        "responses": {"204": {"description": "Added."}},
    }


def _result() -> Json:
    return {
        "operationId": "putResult",
        "summary": "Give the result, which ends the task and its pod",
        "description": f"With the parts before it, {limits.LARGE_RESULT_BYTES} bytes at most. Of a larger one the task "
        "keeps both ends of its text, and another one may be given. Whether it conforms to the tool's outputSchema is "
        "for the client to see: one that does not is a tool error that says where.",
        "parameters": [
            {
                "name": PROGRESS_HEADER,
                "in": "header",
                "description": "The last progress, as JSON in ASCII: it is written with the result.",
                "schema": {"type": "string"},
            }
        ],
        "responses": {"204": {"description": "Given, now or before."}},
    }


def _wait(description: str) -> Json:
    schema = {"type": "number", "minimum": 0, "maximum": 60, "default": 0}
    return {"name": "wait", "in": "query", "description": description, "schema": schema}


def _put(schema: str, operation: Json) -> Json:
    """The operation by PUT, and the same by POST."""
    again = {**operation, "operationId": operation["operationId"].replace("put", "post")}
    return {"put": _with_body(schema, "put", operation), "post": _with_body(schema, "post", again)}


def _with_body(schema: str, method: str, operation: Json) -> Json:
    body = {"required": True, "content": {"application/json": {"schema": _reference(schema)}}}
    return {**operation, "requestBody": body, "responses": _responses(operation["responses"], _WITH_BODY)}


def _responses(good: Json, bad: tuple[str, ...]) -> Json:
    problem = {CONTENT_TYPE: {"schema": _reference("Problem")}}
    problems: Json = {status: {"description": _PROBLEMS[status], "content": problem} for status in bad}
    if "503" in problems:
        problems["503"]["headers"] = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}}
    return good | problems


def _json(description: str, schema: str) -> Json:
    return {"description": description, "content": {"application/json": {"schema": _reference(schema)}}}


def _reference(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _path_parameter(name: str, description: str, schema: Json) -> Json:
    return {"name": name, "in": "path", "required": True, "description": description, "schema": schema}


def _object(required: tuple[str, ...], properties: Json, *, closed: bool = False) -> Json:
    rest = {"additionalProperties": False} if closed else {}
    return {"type": "object", "required": list(required), "properties": properties, **rest}


def _schemas() -> Json:
    number = {"type": "number", "minimum": 0}
    parts = {"type": "array", "items": _reference("Part")}
    answer = _object(("action",), {"action": {"enum": ["accept", "decline", "cancel"]}, "content": {"type": "object"}})
    return {
        "Nothing": {"type": "object"},
        "Seen": _object(("cancelRequested",), {"cancelRequested": {"type": "boolean"}}),
        "Task": _object(
            ("taskId", "tool", "arguments", "argumentsFile", "answers", "cancelRequested"),
            {
                "taskId": {"type": "string"},
                "tool": {"type": "string"},
                "arguments": {
                    "type": ["object", "null"],
                    "description": "As the client wrote them; null where they are only in `argumentsFile`.",
                },
                "argumentsFile": {"type": "string", "description": "The file in the pod that always has them."},
                "answers": {"type": "object", "additionalProperties": _reference("Answer")},
                "cancelRequested": {"type": "boolean"},
            },
        ),
        "Progress": _object(
            ("progress",),
            {
                "progress": number,
                "total": {**number, "type": ["number", "null"], "description": "At least `progress`."},
                "message": {"type": ["string", "null"], "description": "For people; a long one is cut."},
            },
            closed=True,
        ),
        "Question": _object(
            ("message", "requestedSchema"),
            {
                "message": {"type": "string", "minLength": 1},
                "requestedSchema": {
                    "type": "object",
                    "description": "MCP's elicitation schema: an object of plain fields.",
                    "required": ["type", "properties"],
                    "properties": {"type": {"const": "object"}, "properties": {"type": "object"}},
                },
                "modelMayAnswer": {"type": "boolean", "default": False},
                "expirySeconds": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_EXPIRY_SECONDS,
                    "default": DEFAULT_EXPIRY_SECONDS,
                },
            },
            closed=True,
        ),
        "Answer": answer,
        "Answered": _object(
            ("answer", "cancelRequested"), {"answer": _reference("Answer"), "cancelRequested": {"type": "boolean"}}
        ),
        "Part": {"description": "One of MCP's content blocks.", "oneOf": _parts()},
        "Content": _object(("content",), {"content": {**parts, "minItems": 1}}, closed=True),
        "Result": {
            **_object(
                ("content",),
                {"content": parts, "structuredContent": {"type": "object"}, "isError": {"type": "boolean"}},
            ),
            "description": "MCP's CallToolResult.",
        },
        "Problem": _object(
            ("type", "title", "status", "detail"),
            {
                "type": {"type": "string"},
                "title": {"type": "string"},
                "status": {"type": "integer"},
                "detail": {"type": "string"},
                "field": {"type": "string", "description": "What is at fault, where one thing is."},
            },
        ),
    }


def _parts() -> list[Json]:
    text, base64 = {"type": "string"}, {"type": "string", "contentEncoding": "base64"}
    media = {"data": base64, "mimeType": text}
    kinds: dict[str, Json] = {
        "text": {"text": text},
        "image": media,
        "audio": media,
        "resource_link": {"uri": text, "name": text},
        "resource": {"resource": {"type": "object"}},
    }
    return [_object(("type", *members), {"type": {"const": kind}, **members}) for kind, members in kinds.items()]
