"""`resources/list`, `resources/templates/list`, `resources/read` and the legacy subscriptions. Source: "Resources".

What is read is routed here by its URI: one scheme is kept for tasks (`task_resources`), all others are packs'.
"""

from typing import Final

from mcp_types import ReadResourceRequestParams, SubscribeRequestParams
from pydantic import ValidationError

from mcptasks_crds import names
from mcptasks_server.dispatch import Services, parsed
from mcptasks_server.errors import InvalidParamsError, ResourceNotFoundError
from mcptasks_server.exchange import Exchange, Result
from mcptasks_server.toolpack.entries import ResourceEntry, TemplateEntry
from mcptasks_server.toolpack.resources import contents_of, listed_resource, listed_template

from . import task_resources
from .functions import function_of, only, only_page

MAX_URI_LENGTH: Final = 8192
"""Characters. Nothing longer is a resource here, and matching it with templates would take its time."""


async def list_resources(services: Services, exchange: Exchange) -> Result:
    """All resources that have a URI of their own, in one page. Tasks' are not among them: tasks are listed as tasks."""
    only_page(exchange)
    return {"resources": [listed_resource(entry) for entry in services.packs.resources.values()]}


async def list_templates(services: Services, exchange: Exchange) -> Result:
    """All templates, in one page: the packs', then those of tasks."""
    only_page(exchange)
    packs = [listed_template(entry) for entry in services.packs.templates.values()]
    return {"resourceTemplates": [*packs, *task_resources.TEMPLATES]}


async def read_resource(services: Services, exchange: Exchange) -> Result:
    """What a resource holds now."""
    uri = parsed(ReadResourceRequestParams, only(exchange, "uri")).uri
    if names.is_own_uri(uri):
        return await task_resources.read(services, exchange, uri)
    entry, variables = _found(services, uri)
    try:
        arguments = entry.signature.bind(variables)
    except ValidationError as error:  # a variable that the function's types refuse names nothing
        raise ResourceNotFoundError(uri) from error
    value = await function_of(services, entry, exchange, arguments)
    return {"contents": contents_of(value, uri=uri, mime_type=entry.mime_type)}


async def subscribe(services: Services, exchange: Exchange) -> Result:
    """Take note of a wish to hear of changes: of a pack's resources there are none to tell while the process lives."""
    uri = parsed(SubscribeRequestParams, only(exchange, "uri")).uri
    if names.is_own_uri(uri):
        raise InvalidParamsError("There are no updates of tasks' resources: read them again")
    _found(services, uri)
    return {}


def _found(services: Services, uri: str) -> tuple[ResourceEntry | TemplateEntry, dict[str, str]]:
    if (resource := services.packs.resources.get(uri)) is not None:
        return resource, {}
    if len(uri) <= MAX_URI_LENGTH:
        for template in services.packs.templates.values():
            if (variables := template.template.match(uri)) is not None:
                return template, dict(variables)
    raise ResourceNotFoundError(uri)
