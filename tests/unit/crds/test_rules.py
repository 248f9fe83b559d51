"""The rules as data: complete, generated from the phases, and each with a message of its own."""

from itertools import chain

from mcptasks_crds.phases import SUCCESSORS, Phase
from mcptasks_crds.rules import MUTABLE_SPEC, OPEN_AFTER_END, TASK_RULES
from mcptasks_crds.task import TaskSpec, TaskStatus
from mcptasks_crds.tool_rules import TOOL_RULES

ALL = [*chain.from_iterable(TASK_RULES.values()), *chain.from_iterable(TOOL_RULES.values())]


def aliases(model: type[TaskSpec | TaskStatus]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


def test_every_field_of_a_tasks_spec_is_frozen_unless_it_is_named_as_mutable() -> None:
    frozen = {rule.field_path for rule in TASK_RULES["spec"] if "does not change after the call" in rule.message}
    assert frozen == {f".{name}" for name in aliases(TaskSpec) - MUTABLE_SPEC}
    assert aliases(TaskSpec) > MUTABLE_SPEC


def test_every_field_of_a_tasks_status_is_frozen_at_its_end_unless_it_is_named_as_open() -> None:
    rule = TASK_RULES["status"][0].rule
    assert {name for name in aliases(TaskStatus) if f"has(self.{name}) == has(oldSelf.{name})" in rule} == (
        aliases(TaskStatus) - OPEN_AFTER_END
    )
    assert aliases(TaskStatus) > OPEN_AFTER_END


def test_the_rule_on_phases_names_every_phase_that_has_successors() -> None:
    (rule,) = TASK_RULES["status.phase"]
    assert {phase for phase in Phase if f"oldSelf == '{phase}'" in rule.rule} == {
        phase for phase, successors in SUCCESSORS.items() if successors
    }


def test_no_rule_shares_its_message_with_a_rule_on_another_field() -> None:
    for rules in (TASK_RULES, TOOL_RULES):
        places = [(rule.message, f"{path}{rule.field_path}") for path, each in rules.items() for rule in each]
        assert len(places) == len(set(places))


def test_messages_are_short_enough_for_a_terminal() -> None:
    assert [rule.message for rule in ALL if len(rule.message) > 120] == []
