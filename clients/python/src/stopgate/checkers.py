"""Ready-made checkers and validators: the plan is done, files exist, or several combined (protocol.md §5)."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from .checks import AgentContext, CheckFunction, PlanStep, TaskCompletionResult, ValidationResult
from .errors import CheckError, InputError

T = TypeVar("T")
G = TypeVar("G")

_DONE = frozenset({"done", "completed", "cancelled"})
_TITLES_MAX = 3
_TITLE_LENGTH = 30


class FileSystem(Protocol):
    """Looks for files in the folder of a worker."""

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder with this name, relative to the worker's folder."""
        ...


@dataclass(frozen=True)
class Session:
    """The state of the agent."""

    plan: tuple[PlanStep, ...] = ()


@dataclass(frozen=True)
class TaskCompletionContext:
    """The input of a checker."""

    session: Session = Session()
    tentative_output: Any = None
    """The work about to be delivered: the draft if there is one, otherwise the final message."""
    filesystem: FileSystem | None = None
    """None if files cannot be checked."""
    stop_reason: str | None = None


class TaskCompletionChecker(Protocol):
    """Decides whether everything that the agent was asked to do is done. A plain `check` runs in a thread."""

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult | Awaitable[TaskCompletionResult]:
        """Judges the work."""
        ...


class PlanBasedChecker:
    """Complete if every step of the plan is done."""

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Names up to three of the remaining steps, and their number."""
        plan = context.session.plan
        titles = [step.title[:_TITLE_LENGTH] for step in plan if step.status not in _DONE]
        if not titles:
            return TaskCompletionResult.ok()
        shown = ", ".join([*titles[:_TITLES_MAX], *(["…"] if len(titles) > _TITLES_MAX else [])])
        return TaskCompletionResult.incomplete(f"{len(titles)} of {len(plan)} plan steps remain: {shown}")


class FileExistsChecker:
    """Complete if these files exist, and if files cannot be checked."""

    def __init__(self, required_files: Sequence[str]) -> None:
        # A single name is a sequence of letters too.
        self._required = (required_files,) if isinstance(required_files, str) else tuple(required_files)

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Names all missing files."""
        if context.filesystem is None:
            return TaskCompletionResult.ok()
        missing = [file for file in self._required if not context.filesystem.exists(file)]
        if not missing:
            return TaskCompletionResult.ok()
        return TaskCompletionResult.incomplete(f"Missing required files: {', '.join(missing)}")


class CompositeChecker:
    """Combines checkers.

    With `all_must_pass` the first incomplete result decides. Without it, one complete result is enough; if there is
    none, the feedback lists every failure.
    """

    def __init__(self, checkers: Sequence[TaskCompletionChecker], *, all_must_pass: bool = True) -> None:
        self._checkers = tuple(checkers)
        self._all_must_pass = all_must_pass

    async def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Runs the checkers in order until the result is known."""
        failed: list[str] = []
        for checker in self._checkers:
            result = await _call(checker.check, context)
            if result.complete is not self._all_must_pass:
                return result
            if not result.complete:
                failed.append(result.feedback or "")
        return TaskCompletionResult.incomplete("; or ".join(failed)) if failed else TaskCompletionResult.ok()


Validator = Callable[[AgentContext], ValidationResult | Awaitable[ValidationResult]]
"""Whether the work is complete. A plain function runs in a thread."""


def composite_validator(*validators: Validator) -> Callable[[AgentContext], Awaitable[ValidationResult]]:
    """Runs validators in order and returns the first incomplete result."""

    async def validate(context: AgentContext) -> ValidationResult:
        for validator in validators:
            result = await _call(validator, context)
            if not result.complete:
                return result
        return ValidationResult(complete=True, reason="All validators passed")

    return validate


Todos = Sequence[Mapping[str, Any]]
"""Steps with a `status`. `done`, `completed` and `cancelled` count as done."""


def todo_validator(
    read_todos: Callable[[], Todos | Awaitable[Todos]] | None = None,
) -> Callable[[AgentContext], Awaitable[ValidationResult]]:
    """Checks the worker's plan, or the todos that `read_todos` returns."""

    async def validate(context: AgentContext) -> ValidationResult:
        if read_todos is None:
            statuses = [step.status for step in context.plan]
        else:
            statuses = [str(todo["status"]) for todo in await _call(lambda _: read_todos(), None)]
        remaining = sum(status not in _DONE for status in statuses)
        if remaining == 0:
            return ValidationResult(complete=True, reason="All todos done")
        return ValidationResult(complete=False, reason=f"{remaining} todos remaining")

    return validate


async def _call(function: Callable[[G], T | Awaitable[T]], argument: G) -> T:
    """Calls a function. A plain function may block, so it runs in a thread."""
    is_coroutine = inspect.iscoroutinefunction(function)
    result = function(argument) if is_coroutine else await asyncio.to_thread(function, argument)
    return await result if inspect.isawaitable(result) else result


def to_check(check: CheckFunction | TaskCompletionChecker, roots: Sequence[str | Path]) -> CheckFunction:
    """Converts a checker to a function that can be served. Worker folders count only inside `roots`."""
    if callable(check):
        return check
    if not callable(getattr(check, "check", None)):
        raise InputError("input.bad", "a check is a function, or a checker with a method `check`")
    checker = check
    inside = tuple(Path(root).absolute() for root in roots)

    async def answer(context: AgentContext) -> TaskCompletionResult:
        drafted = context.draft_content
        return await _call(
            checker.check,
            TaskCompletionContext(
                session=Session(context.plan),
                tentative_output=context.agent_output if drafted is None else drafted,
                filesystem=WorkerFolder(context.cwd, inside),
                stop_reason=context.stop_reason,
            ),
        )

    return answer


class WorkerFolder:
    """The files of a worker, by the rules of the `files` check: inside its folder, which is inside `roots`.

    A file that cannot be examined raises `CheckError`: it is an error of the check, not a missing file.
    """

    def __init__(self, cwd: str | None, roots: Sequence[Path]) -> None:
        self._cwd = cwd
        self._roots = roots

    def exists(self, path: str) -> bool:
        """Whether the file exists."""
        folder = self._find_folder()
        if path == "" or "\0" in path:
            raise _error(f"the required file {path!r} is not a file name")
        if os.path.isabs(path):
            raise _error(f"the required file {path!r} is absolute: files are relative to the worker's folder")
        whole = Path(os.path.normpath(folder / path))
        if not whole.is_relative_to(folder):
            raise _error(f"the required file {path!r} lies outside the worker's folder")
        try:
            found = whole.resolve(strict=True)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except (OSError, RuntimeError) as error:  # RuntimeError: a cycle of symlinks
            raise _error(f"the required file {path!r} cannot be examined ({error})") from error
        if not found.is_relative_to(folder):
            raise _error(f"the required file {path!r} leads out of the worker's folder by a symlink")
        return True

    def _find_folder(self) -> Path:
        if self._cwd is None:
            raise _error("the worker has no folder: its registration names no cwd")
        named = Path(self._cwd)
        if not named.is_absolute():
            raise _error(f"the worker's folder {self._cwd!r} is not an absolute path")
        try:
            folder = named.resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise _error(f"the worker's folder {self._cwd!r} cannot be used ({error})") from error
        if not folder.is_dir():
            raise _error(f"the worker's folder {self._cwd!r} is not a folder")
        if not any(folder.is_relative_to(root.resolve()) for root in self._roots):
            way = "to allow it, name it or a folder above it in roots= of serve_check"
            raise _error(f"the worker's folder {self._cwd!r} is outside the roots; {way}")
        return folder


def _error(message: str) -> CheckError:
    return CheckError("check.failed", message)
