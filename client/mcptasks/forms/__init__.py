"""Forms: what MCP's elicitation asks of people, field by field, and what answers it. Pure; standard library alone.

Source: specification 2026-07-28, "Elicitation", "Requested Schema". A form is an object of plain fields. One of another
server may have more; what is not known here is left to that server to judge.
"""

from .answers import Answer, FormError, accept, cancel, content_from, decline, parse_assignment
from .fields import Field, Kind, fields_of

__all__ = [
    "Answer",
    "Field",
    "FormError",
    "Kind",
    "accept",
    "cancel",
    "content_from",
    "decline",
    "fields_of",
    "parse_assignment",
]
