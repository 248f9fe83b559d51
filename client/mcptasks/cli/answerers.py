"""Who answers the questions of a call or a task: the command line itself, else the person at the terminal."""

from dataclasses import dataclass, field

from mcptasks.answering import Answering
from mcptasks.forms.answers import Answer, FormError
from mcptasks.questions import Question

from .dialogue import Lines, ask
from .given import Given
from .status import Reporter


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What there is to answer with."""

    given: Given = field(default_factory=Given)
    leaves: bool = False
    """Whether a question without an answer is left to others."""
    lines: Lines | None = None
    """The terminal; None where nobody can be asked."""


class Answerers:
    """Answers questions as they come."""

    def __init__(self, answers: Answers, reporter: Reporter, *, server: str) -> None:
        self._answers = answers
        self._reporter = reporter
        self._server = server
        self.complaints: list[str] = []
        """Why answers of the command line are none."""
        self.is_asking = False
        """Whether a person is being asked, or has just let go of it."""

    def answering(self) -> Answering:
        """Who answers."""
        return Answering(
            answerer=self._answer,
            leaves=self._answers.leaves,
            on_dropped=lambda question: self._reporter.note(
                f"{question.key} is not asked any more: somebody else has answered it, or its time is over."
            ),
            on_answered=lambda question, answer: self._reporter.note(f"Answered {question.key}: {answer['action']}."),
        )

    async def _answer(self, question: Question, refusal: str | None) -> Answer | None:
        found = self._from_command_line(question) if refusal is None else None
        if found is not None or self._answers.leaves or self._answers.lines is None:
            return found
        self._reporter.close()
        self.is_asking = True
        answer = await ask(question, self._answers.lines, server=self._server, refusal=refusal)
        self.is_asking = False
        return answer

    def _from_command_line(self, question: Question) -> Answer | None:
        try:
            return self._answers.given.answer_to(question)
        except FormError as error:
            self.complaints.append(f"--answer {question.key}: {error}")
            return None

    def unanswered(self) -> list[str]:
        """Why the command line did not answer what is open."""
        unused = self._answers.given.unused()
        return self.complaints + [f"No question is called {name}." for name in unused]
