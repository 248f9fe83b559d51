"""The rules as data: complete, generated from the phases, and each with a message of its own."""

from itertools import chain

from mcptasks_crds.base import Json
from mcptasks_crds.cel import APPEND_ONLY, CONSTANT, GROWS, kept
from mcptasks_crds.phases import SUCCESSORS, Phase
from mcptasks_crds.rules import MUTABLE_SPEC, OPEN_AFTER_END, TASK_RULES
from mcptasks_crds.structural import structural_schema
from mcptasks_crds.task import TaskSpec, TaskStatus
from mcptasks_crds.tool_rules import TOOL_RULES

ALL = [*chain.from_iterable(TASK_RULES.values()), *chain.from_iterable(TOOL_RULES.values())]


def properties(model: type[TaskSpec | TaskStatus]) -> Json:
    found: Json = structural_schema(model, defaults=True)["properties"]
    return found


def aliases(model: type[TaskSpec | TaskStatus]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


def test_every_field_of_a_tasks_spec_is_frozen_unless_it_is_named_as_mutable() -> None:
    fields = {name: field for name, field in properties(TaskSpec).items() if name not in MUTABLE_SPEC}
    constant = {name for name in fields if CONSTANT in {rule.rule for rule in TASK_RULES.get(f"spec.{name}", ())}}
    assert constant == set(fields)
    assert aliases(TaskSpec) > MUTABLE_SPEC


def test_a_frozen_field_that_may_be_absent_neither_comes_nor_goes() -> None:
    """What is required, or has a default, is always there: the API server sees to that itself."""
    schema = structural_schema(TaskSpec, defaults=True)
    always = {*schema["required"], *(name for name, field in schema["properties"].items() if "default" in field)}
    rules = {rule.rule for rule in TASK_RULES["spec"]}
    for name in aliases(TaskSpec) - MUTABLE_SPEC - always:
        assert f"has(self.{name}) == has(oldSelf.{name})" in rules
    assert {"cancelRequested", "detached"} <= always  # their rules read them unasked


def test_every_field_of_a_tasks_status_is_frozen_at_its_end_unless_it_is_named_as_open() -> None:
    rule = TASK_RULES["status"][0].rule
    assert {name for name in aliases(TaskStatus) if f"has(self.{name}) == has(oldSelf.{name})" in rule} == (
        aliases(TaskStatus) - OPEN_AFTER_END
    )
    assert aliases(TaskStatus) > OPEN_AFTER_END


def test_what_is_written_once_or_only_grows_does_not_go_either() -> None:
    """A rule at a field is not asked where the field is taken away: its parent has to say that."""
    for path, rules in TASK_RULES.items():
        parent, _, name = path.rpartition(".")
        is_kept = any(rule.rule in {kept(name), kept(name, is_rare=True)} for rule in TASK_RULES.get(parent, ()))
        required = parent == "status.job"
        if path.startswith("status.") and {rule.rule for rule in rules} & {CONSTANT, GROWS, APPEND_ONLY}:
            assert is_kept or required, path


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
