"""The checkers and validators of the package, called directly and served as checks of the service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stopgate import (
    AgentContext,
    CompositeChecker,
    FileExistsChecker,
    IncompleteError,
    InputError,
    PlanBasedChecker,
    Session,
    Step,
    TaskCompletionChecker,
    TaskCompletionContext,
    TaskCompletionResult,
    ValidationResult,
    composite_validator,
    todo_validator,
)
from stopgate.checkers import to_check
from stopgate.checks import PlanStep

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Connect

    from stopgate.entries import WorkerRegistered

PLAN_WORDS = "1 of 1 plan steps remain: Write tests"
FILE_WORDS = "Missing required files: output.txt"
PENDING: Step = {"title": "Write tests", "status": "pending"}


def plan(*statuses: str) -> TaskCompletionContext:
    steps = tuple(PlanStep(title=f"Step {index + 1}", status=status) for index, status in enumerate(statuses))
    return TaskCompletionContext(session=Session(steps))


class Files:
    """A file system that contains only these files."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def exists(self, path: str) -> bool:
        return path in self.names


@pytest.mark.parametrize(
    ("statuses", "feedback"),
    [
        ((), None),
        (("done", "completed", "cancelled"), None),
        (("done", "in_progress"), "1 of 2 plan steps remain: Step 2"),
        (("pending", "pending", "pending"), "3 of 3 plan steps remain: Step 1, Step 2, Step 3"),
        (("pending", "pending", "pending", "pending"), "4 of 4 plan steps remain: Step 1, Step 2, Step 3, …"),
    ],
)
def test_a_plan_is_complete_when_no_step_is_open(statuses: tuple[str, ...], feedback: str | None) -> None:
    assert PlanBasedChecker().check(plan(*statuses)) == TaskCompletionResult(feedback is None, feedback)


def test_a_long_title_is_cut() -> None:
    context = TaskCompletionContext(session=Session((PlanStep(title="😀" * 31, status="pending"),)))
    assert PlanBasedChecker().check(context).feedback == f"1 of 1 plan steps remain: {'😀' * 30}"


def test_missing_files_are_named() -> None:
    checker = FileExistsChecker(("a.md", "b.md", "c.md"))
    incomplete = checker.check(TaskCompletionContext(filesystem=Files("b.md")))
    assert incomplete == TaskCompletionResult.incomplete("Missing required files: a.md, c.md")
    assert checker.check(TaskCompletionContext(filesystem=Files("a.md", "b.md", "c.md"))) == TaskCompletionResult.ok()
    assert checker.check(TaskCompletionContext()) == TaskCompletionResult.ok()
    assert FileExistsChecker("a.md").check(TaskCompletionContext(filesystem=Files("a.md"))).complete


class Late:
    """A custom checker may be a coroutine."""

    async def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        return TaskCompletionResult.incomplete(f"late after {context.stop_reason}")


@pytest.mark.parametrize(
    ("checkers", "all_must_pass", "feedback"),
    [
        ((FileExistsChecker(["there"]), PlanBasedChecker(), Late()), True, "1 of 1 plan steps remain: Step 1"),
        ((FileExistsChecker(["there"]),), True, None),
        ((PlanBasedChecker(), FileExistsChecker(["there"]), Late()), False, None),
        ((PlanBasedChecker(), Late()), False, "1 of 1 plan steps remain: Step 1; or late after end_turn"),
        ((), False, None),
    ],
)
async def test_several_checkers_are_combined(
    checkers: tuple[TaskCompletionChecker, ...], all_must_pass: bool, feedback: str | None
) -> None:
    context = TaskCompletionContext(plan("pending").session, filesystem=Files("there"), stop_reason="end_turn")
    found = await CompositeChecker(checkers, all_must_pass=all_must_pass).check(context)
    assert found == TaskCompletionResult(feedback is None, feedback)


async def test_both_checkers_run_in_order_on_real_files(connect: Connect, tmp_path: Path) -> None:
    async with await connect() as client:
        both = CompositeChecker((PlanBasedChecker(), FileExistsChecker(("output.txt",))))
        await client.serve_check("done", both, roots=[tmp_path])
        w = client.worker("checked")
        await w.publish("worker.registered", {"policy": "done", "cwd": str(tmp_path)})
        await w.publish("plan.updated", {"steps": [PENDING]})
        assert (await w.decide()).reason == PLAN_WORDS
        await w.publish("plan.updated", {"steps": [{"title": "Write tests", "status": "done"}]})
        assert (await w.decide()).reason == FILE_WORDS
        with pytest.raises(IncompleteError, match=FILE_WORDS):
            await w.assert_complete()
        (tmp_path / "output.txt").touch()
        assert (await w.decide()).cause == "complete"


async def test_one_passing_checker_is_enough(connect: Connect, tmp_path: Path) -> None:
    async with await connect() as client:
        either = CompositeChecker((PlanBasedChecker(), FileExistsChecker(("output.txt",))), all_must_pass=False)
        await client.serve_check("done", either, roots=[tmp_path])
        w = client.worker("either")
        await w.publish("worker.registered", {"policy": "done", "cwd": str(tmp_path)})
        await w.publish("plan.updated", {"steps": [PENDING]})
        assert (await w.decide()).reason == f"{PLAN_WORDS}; or {FILE_WORDS}"
        (tmp_path / "output.txt").touch()
        assert (await w.decide()).cause == "complete"


async def test_files_that_cannot_be_examined_are_an_error_and_not_a_pass(connect: Connect, tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root, outside):
        folder.mkdir()
    (outside / "secret").touch()
    (root / "link").symlink_to(outside / "secret")
    async with await connect() as client:
        for number, (file, cwd, words) in enumerate(
            (
                ("output.txt", None, "the worker has no folder: its registration names no cwd"),
                ("output.txt", str(outside), "is outside the roots; to allow it, name it"),
                ("output.txt", "root", "is not an absolute path"),
                ("output.txt", str(root / "nothing"), "cannot be used"),
                ("../outside/secret", str(root), "lies outside the worker's folder"),
                (str(outside / "secret"), str(root), "is absolute"),
                ("link", str(root), "leads out of the worker's folder by a symlink"),
                ("", str(root), "is not a file name"),
            )
        ):
            served = await client.serve_check("done", FileExistsChecker([file]), roots=[root])
            w = client.worker(f"outside-{number}")
            registration: WorkerRegistered = {"policy": "done"}
            if cwd is not None:
                registration["cwd"] = cwd
            await w.publish("worker.registered", registration)
            decision = await w.decide()
            assert decision.decision == "block"
            assert [it.outcome for it in decision.feedback] == ["error"]
            assert words in decision.feedback[0].message
            await served.close()


async def test_a_checker_gets_the_draft_of_the_agent(connect: Connect) -> None:
    seen: list[TaskCompletionContext] = []

    class Own:
        def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
            seen.append(context)
            return TaskCompletionResult.incomplete("Too short")

    async with await connect() as client:
        await client.serve_check("done", Own())
        w = client.worker("delivering")
        await w.publish("worker.registered", {"policy": "done"})
        assert (
            await w.decide(stop_reason="max_turns", output="here", draft={"content": "a draft"})
        ).reason == "Too short"
        await w.decide(output="here")
        await w.decide()
        assert [it.tentative_output for it in seen] == ["a draft", "here", None]
        assert [it.stop_reason for it in seen] == ["max_turns", "end_turn", "end_turn"]


async def test_validators_are_served_unchanged(connect: Connect) -> None:
    asked: list[str] = []

    def tools(context: AgentContext) -> ValidationResult:
        asked.append("tools")
        return ValidationResult(complete=context.tool_count > 0, reason="no tool was used")

    async with await connect() as client:
        await client.serve_check("done", composite_validator(todo_validator(), tools))
        w = client.worker("validated")
        await w.publish("worker.registered", {"policy": "done"})
        await w.publish("plan.updated", {"steps": [PENDING]})
        assert (await w.decide()).reason == "1 todos remaining"
        assert asked == []
        await w.publish("plan.updated", {"steps": [{"title": "Write tests", "status": "cancelled"}]})
        assert (await w.decide()).reason == "no tool was used"
        await w.publish("tool.used", {"tool": "Bash"})
        decision = await w.decide()
        assert (decision.decision, decision.cause) == ("allow", "complete")


@pytest.mark.parametrize(
    ("statuses", "rendered"),
    [
        ((), "[complete] All todos done"),
        (("completed", "done", "cancelled"), "[complete] All todos done"),
        (("completed", "in_progress", "pending"), "[incomplete] 2 todos remaining"),
    ],
)
async def test_custom_todos(statuses: tuple[str, ...], rendered: str) -> None:
    validate = todo_validator(lambda: [{"status": status} for status in statuses])
    context = AgentContext(*(None, 0, None, (), (), (), None, None, None, "w", "a", 0, 0, "end_turn", None, ()))
    assert (await validate(context)).render() == rendered
    every = composite_validator(validate)
    assert (await every(context)).complete is rendered.startswith("[complete]")


def test_what_cannot_be_called_is_no_check() -> None:
    with pytest.raises(InputError, match="a check is a function"):
        to_check(None, ["."])  # type: ignore[arg-type]
