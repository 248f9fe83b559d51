"""What a McpTask asks of its approvers, as the CRD's own models understand it; kubectl as a program."""

import asyncio
import io
import json
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks.cli import asked as asked_words
from mcptasks.cli.approving import commands, objects
from mcptasks.cli.approving.commands import Office
from mcptasks.cli.approving.kubectl import Kubectl, KubectlError, User
from mcptasks.cli.approving.objects import Approval, approvals_of, patch_of
from mcptasks.cli.exits import Exit
from mcptasks.cli.options import Output
from mcptasks.cli.output import Printer
from mcptasks.cli.status import PlainReporter
from mcptasks.cli.wanted import NotAskedError, wanted_from
from mcptasks.errors import ArgumentsError
from mcptasks_crds import names, questions
from mcptasks_crds.asking import open_questions
from mcptasks_crds.phases import Phase
from mcptasks_crds.task import McpTask
from mcptasks_server import projection

FORM = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
CREATED = "2026-11-30T12:00:00Z"
DEPLOYERS = {"groups": ["deployers"], "users": ["carol"]}


def question(answered_by: str = "approvers", **more: Any) -> dict[str, Any]:
    approvers = {} if answered_by == "caller" else {"approvers": DEPLOYERS}
    asked = {"message": "Sure?", "requestedSchema": json.dumps(FORM), "when": "beforeStart", "answeredBy": answered_by}
    return {**asked, **approvers, **more}


def task(asked: dict[str, Any], *, status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.TASK_KIND,
        "metadata": {"name": "mt-1", "namespace": "n", "creationTimestamp": CREATED},
        "spec": {"tool": {"name": "deploy"}, "arguments": "{}", "caller": "alice", "questions": asked, **spec},
        "status": status or {},
    }


SEEN = {"at": CREATED, "road": "approver"}
GIVEN = {"response": '{"action":"decline"}', "by": "carol"}
KEYS = st.sampled_from(["a", "b", "a-2", "a-3"])
TASKS = st.builds(
    lambda asked, again, given, phase, cancelled, stopping: task(
        asked,
        answers=dict.fromkeys(given, GIVEN),
        cancelRequested=cancelled,
        status={
            "answers": {key: SEEN | ({"askedAgainAs": to, "rejected": "Invalid"} if to else {}) for key, to in again},
            **({"phase": phase} if phase else {}),
            **({"stopping": {"reason": "RunLimit", "at": CREATED}} if stopping else {}),
        },
    ),
    st.dictionaries(
        KEYS,
        st.builds(
            lambda who, when: question(who, when=when),
            st.sampled_from(["caller", "approvers", "either"]),
            st.sampled_from(["beforeTask", "beforeStart"]),
        ),
    ),
    st.lists(st.tuples(KEYS, st.none() | KEYS), unique_by=lambda pair: pair[0]),
    st.sets(KEYS),
    st.none() | st.sampled_from([str(phase) for phase in Phase]),
    st.booleans(),
    st.booleans(),
)


@given(manifest=TASKS)
def test_what_waits_for_approvers_is_what_the_server_says(manifest: dict[str, Any]) -> None:
    found = {each.key: each for each in approvals_of(manifest)}

    by_the_server = {
        key: each
        for key, each in open_questions(McpTask.model_validate(manifest)).items()
        if each.answered_by.is_for_approvers
    }
    assert found.keys() == by_the_server.keys()
    for key, each in by_the_server.items():
        assert (found[key].message, json.dumps(found[key].form)) == (each.message, each.requested_schema)
        assert (found[key].approvers, found[key].expires_at) == (str(each.approvers), each.expires_at)


def test_the_names_and_defaults_are_the_crds_own() -> None:
    assert objects.DEFAULT_EXPIRY_SECONDS == questions.DEFAULT_EXPIRY_SECONDS
    assert {str(phase) for phase in Phase if phase.is_terminal} == objects._OVER
    (found,) = approvals_of(task({"go": question()}))
    assert found.expires_at == datetime(2026, 11, 30, 12, tzinfo=UTC) + timedelta(days=7)
    (found,) = approvals_of(task({"go": question(expirySeconds=60)}))
    assert found.question().meta == {
        "mcptasks.dev/answeredBy": "deployers, carol",
        "mcptasks.dev/expiresAt": "2026-11-30T12:01:00Z",
    }


def test_what_is_said_beside_a_question_has_the_servers_own_names() -> None:
    assert (asked_words.ANSWERED_BY, asked_words.EXPIRES_AT) == (projection.ANSWERED_BY, projection.EXPIRES_AT)


def test_a_task_that_somebody_wrote_by_hand_breaks_nothing() -> None:
    forms = ["no json", "[" * 8000, "[]"]
    found = [approvals_of(task({"go": question(requestedSchema=form)}))[0].form for form in forms]

    assert found == [{}, {}, {}]


@pytest.mark.parametrize(
    ("user", "groups", "may"), [("carol", [], True), ("bob", ["deployers"], True), ("bob", ["others"], False)]
)
def test_an_approver_is_known_by_name_or_group(user: str, groups: list[str], *, may: bool) -> None:
    (found,) = approvals_of(task({"go": question()}))

    assert found.may_be_given_by(User(name=user, groups=frozenset(groups))) is may


def test_the_patch_is_the_one_that_the_page_shows() -> None:
    answer = {"action": "accept", "content": {"window": "né"}}

    patch = patch_of("approve", answer, by="alice@example.com", reason=None)

    assert patch == {
        "spec": {
            "answers": {"approve": {"by": "alice@example.com", "response": json.dumps(answer, ensure_ascii=False)}}
        }
    }


Offices = Callable[..., Office]


@pytest.fixture
def office(tmp_path: Path) -> Offices:
    """An office whose kubectl is a program that says what it is told; what it was asked is in `asked`."""

    def make(*, code: str = "", lines: Any = None, output: Output = Output.TEXT, **said: Any) -> Office:
        program = tmp_path / "kubectl.py"
        program.write_text(
            "import json, sys\n"
            f"open({str(tmp_path / 'asked')!r}, 'a').write(json.dumps(sys.argv[1:]) + '\\n')\n"
            f"{code}\n"
            f"print(json.dumps({said!r}[sys.argv[1]]))\n"
        )
        return Office(
            kubectl=Kubectl(command=(sys.executable, str(program)), namespace="n"),
            printer=Printer(output, stream=io.StringIO(), errors=io.StringIO()),
            reporter=PlainReporter(io.StringIO()),
            lines=lines,
            look_seconds=0.01,
        )

    return make


def whoami(name: str, *groups: str) -> dict[str, Any]:
    return {"status": {"userInfo": {"username": name, "groups": list(groups)}}}


def asked(tmp_path: Path) -> list[list[str]]:
    return [json.loads(line) for line in (tmp_path / "asked").read_text().splitlines()]


def wanted(*words: str, **flags: bool) -> Any:
    return wanted_from(words, **({"accepts": False, "declines": False, "cancels": False} | flags))


async def test_an_approvers_answer_is_one_patch_in_their_own_name(office: Offices, tmp_path: Path) -> None:
    at = office(get=task({"go": question()}), auth=whoami("carol"), patch={})

    assert await commands.answer(at, "mt-1", wanted("go", "sure=yes"), reason="all green") is Exit.COMPLETED

    *_, patch = asked(tmp_path)
    given = json.loads(patch[patch.index("--patch") + 1])["spec"]["answers"]["go"]
    assert patch[:3] == ["patch", "mcptasks.mcptasks.dev", "mt-1"]
    assert (given["by"], given["reason"]) == ("carol", "all green")
    assert json.loads(given["response"]) == {"action": "accept", "content": {"sure": True}}


@pytest.mark.parametrize(
    ("who", "key", "complaint"),
    [
        ("mallory", "go", "go is not for mallory to answer: its approvers are deployers, carol"),
        ("carol", "stop", "stop is not asked, or not any more: it asks go"),
    ],
)
async def test_nothing_is_patched_that_cannot_count(
    office: Offices, tmp_path: Path, who: str, key: str, complaint: str
) -> None:
    at = office(get=task({"go": question()}), auth=whoami(who), patch={})

    with pytest.raises(NotAskedError, match=complaint):
        await commands.answer(at, "mt-1", wanted(key, declines=True), reason=None)
    assert all(words[0] != "patch" for words in asked(tmp_path))


async def test_a_task_that_waits_for_nobody_says_so(office: Offices) -> None:
    at = office(get=task({"go": question("caller")}))

    with pytest.raises(NotAskedError, match="mt-1 waits for no approver"):
        await commands.answer(at, "mt-1", wanted(declines=True), reason=None)
    assert await commands.questions(at, "mt-1") is Exit.COMPLETED


async def test_without_words_and_terminal_the_questions_are_shown(office: Offices) -> None:
    at = office(get=task({"go": question()}))

    assert await commands.answer(at, "mt-1", wanted(), reason=None) is Exit.INPUT_REQUIRED


class Thinker:
    """Never answers."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    async def read(self, prompt: str) -> str:
        await asyncio.Event().wait()
        return prompt

    def show(self, text: str) -> None:
        self.shown.append(text)

    def forget_typed(self) -> None:
        """Nothing was."""


async def test_a_question_that_another_approver_answers_disappears(office: Offices, tmp_path: Path) -> None:
    answered = task({"go": question()}, answers={"go": GIVEN})
    later = f"if len(open({str(tmp_path / 'asked')!r}).readlines()) > 3: print(json.dumps({answered!r})); sys.exit()"
    thinker = Thinker()
    at = office(code=later, lines=thinker, get=task({"go": question()}), auth=whoami("carol"))

    with pytest.raises(NotAskedError, match="go is not asked any more"):
        await commands.answer(at, "mt-1", wanted(), reason=None)
    assert "\ndeploy, called by alice, asks (go):" in thinker.shown


async def test_the_approvals_of_a_namespace_are_a_table(office: Offices, tmp_path: Path) -> None:
    tasks = {"items": [task({"go": question(), "on": question("caller")})]}
    at = office(get=tasks, auth=whoami("bob", "deployers"))

    assert await commands.approvals(at, everywhere=False) is Exit.COMPLETED

    assert isinstance(at.printer._stream, io.StringIO)
    assert [re.split(" {3,}", line) for line in at.printer._stream.getvalue().splitlines()] == [
        ["TASKID", "KEY", "TOOL", "CALLER", "APPROVERS", "YOURS", "EXPIRESAT", "MESSAGE"],
        ["mt-1", "go", "deploy", "alice", "deployers, carol", "yes", "2026-12-07T12:00:00Z", "Sure?"],
    ]
    assert "status.phase=InputRequired" in asked(tmp_path)[-1]


async def test_what_kubectl_complains_of_is_told(office: Offices) -> None:
    at = office(code="sys.exit('Error from server (NotFound): no such task')")
    with pytest.raises(KubectlError, match="NotFound"):
        await commands.questions(at, "mt-1")
    at = office(code="print('odd'); sys.exit()")
    with pytest.raises(KubectlError, match="is not JSON"):
        await commands.questions(at, "mt-1")


@pytest.mark.parametrize("name", ["-A", "--server=https://elsewhere", "", "mt-1 mt-2", "pods/x"])
async def test_kubectl_is_given_no_id_that_it_would_take_for_something_else(
    name: str, office: Offices, tmp_path: Path
) -> None:
    with pytest.raises(ArgumentsError, match="is no task's id"):
        await commands.questions(office(get={}), name)

    assert not (tmp_path / "asked").exists()


async def test_a_kubectl_that_is_not_there_is_told() -> None:
    with pytest.raises(KubectlError, match=r"no-such-program cannot be run .*--kubectl"):
        await Kubectl(command=("no-such-program",)).user()


def test_an_approval_says_who_asks() -> None:
    found = approvals_of(task({"go": question()}))

    assert found == [
        Approval(
            task="mt-1",
            namespace="n",
            tool="deploy",
            caller="alice",
            key="go",
            message="Sure?",
            form=FORM,
            users=("carol",),
            groups=("deployers",),
            expires_at=datetime(2026, 12, 7, 12, tzinfo=UTC),
        )
    ]
