"""An invalid entry is refused with the names of its bad fields before anything is sent."""

from __future__ import annotations

from typing import Any

import pytest

from stopgate import InputError
from stopgate.attempt import to_wire
from stopgate.validation import check_entry


def refusal(kind: str, data: object, entity: str = "worker") -> str:
    with pytest.raises(InputError) as caught:
        check_entry(entity, kind, data)
    assert caught.value.issues
    return str(caught.value)


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        ("tool.used", {"ok": True}, "this is not a valid tool.used: tool is missing"),
        ("tool.used", {"tool": 7}, "tool must be a str, not 7"),
        ("tool.used", {"tool": ""}, "tool must not be empty"),
        ("tool.used", {"tool": "Bash", "ok": "yes"}, "ok must be a bool, not 'yes'"),
        ("tool.used", {"tool": "Bash", "files": "a.py"}, "files must be a list, not 'a.py'"),
        ("tool.used", {"tool": "Bash", "files": ["a.py", None]}, "files.1 must be a str, not None"),
        ("tool.used", ["Bash"], "must be a dict, not ['Bash']"),
        ("step.updated", {"step": "a b"}, "step must match ^[A-Za-z0-9]"),
        ("step.updated", {"step": "1\n"}, "step must match"),
        ("step.updated", {"step": "1", "title": "😀" * 1_001}, "title must have at most 2000 characters, not 2002"),
        ("plan.updated", {"steps": [{"title": "a"}]}, "steps.0.status is missing"),
        ("worker.registered", {"labels": {"team": 7}}, "labels.team must be a str, not 7"),
        ("stop.attempted", {"toolCount": True}, "toolCount must be an int, not True"),
        ("stop.attempted", {"toolCount": -1}, "toolCount must be at least 0, not -1"),
    ],
)
def test_the_error_names_a_field_and_its_allowed_values(kind: str, data: Any, words: str) -> None:
    assert words in refusal(kind, data)


def test_all_bad_fields_are_reported_at_once() -> None:
    assert refusal("tool.used", {"ok": 1, "call": 2}).endswith(
        "tool is missing; ok must be a bool, not 1; call must be a str, not 2"
    )


def test_members_of_a_hook_are_checked() -> None:
    hook = {"hook": "h1", "type": "any", "of": [{"type": "remote", "name": "a b"}]}
    assert "of.0.name must match" in refusal("hook.registered", hook, "task")
    assert "of.0.type must be one of default, validation" in refusal(
        "hook.registered", {**hook, "of": [{"type": "mine"}]}, "task"
    )
    assert "iteration must be more than 0, not 0" in refusal("iteration.started", {"iteration": 0}, "task")


def test_valid_entries_and_unknown_fields_pass() -> None:
    check_entry("worker", "heartbeat.sent", {})
    check_entry("worker", "tool.used", {"tool": "Bash", "ok": True, "files": ("a.py",), "later": {"any": 1}})
    check_entry("task", "hook.registered", {"hook": "h1", "type": "any", "of": [{"type": "tdd"}]})


def test_an_attempt_is_checked_too() -> None:
    assert to_wire({"output": "Done", "tool_count": 3, "hold_ms": None}) == {"output": "Done", "toolCount": 3}
    with pytest.raises(InputError, match=r"not a stop attempt: validation.0.passed is missing"):
        to_wire({"validation": [{"rule": "tests_pass"}]})


def test_an_entity_that_does_not_exist_is_named() -> None:
    with pytest.raises(InputError, match="there are no entries about a wrker: use worker, task or queue"):
        check_entry("wrker", "step.updated", {"step": "1"})
