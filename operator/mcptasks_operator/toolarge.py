"""Words about a result that the task endpoint refused, for it is larger than is kept at all. Pure."""

from .situation import Situation


def refused_words(situation: Situation) -> str | None:
    """What is known of a result that was refused, in place of which the program gave no other one."""
    report = situation.status.report
    if report is None or report.has_result or report.too_large is None:
        return None
    refused = report.too_large
    return (
        f"the tool gave a result of {refused.bytes} bytes, and at most {refused.limit} are kept; it began:\n"
        f"{refused.head}\n...\nand ended:\n{refused.tail}"
    )


def with_refused(situation: Situation, message: str) -> str:
    """What happened to a tool, and the result that it could not give: it may have failed because of that."""
    words = refused_words(situation)
    return message if words is None else f"{message}; {words}"
