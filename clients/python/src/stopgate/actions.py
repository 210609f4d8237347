"""What a worker or an operator does that may be refused: the view of the worker says whether it was."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Literal

from .entries import EntryPublisher, OperatorInputAnswered, TaskFailed
from .errors import RefusedError

if TYPE_CHECKING:
    from .views import TaskView, WorkerView


class ActionCalls(EntryPublisher):
    """Each gives what it led to, and raises `RefusedError` with the reason if it changed nothing."""

    @abstractmethod
    async def get_worker(self, worker: str) -> WorkerView:
        """The worker as it is known."""

    @abstractmethod
    async def get_task(self, task: str) -> TaskView:
        """The task as it is known."""

    async def fail_task(self, worker: str, task: str, reason: str | None = None) -> TaskView:
        """The task is escalated to a person, with the reason."""
        before = await self.get_worker(worker)
        data: TaskFailed = {"task": task}
        if reason is not None:
            data["reason"] = reason
        await self.publish("worker", worker, "task.failed", data)
        await self._confirm_accepted(before, "task.failed")
        return await self.get_task(task)

    async def release_task(self, worker: str, task: str) -> TaskView:
        """The task is `idle` again: another worker may claim it."""
        before = await self.get_worker(worker)
        await self.publish("worker", worker, "task.released", {"task": task})
        await self._confirm_accepted(before, "task.released")
        return await self.get_task(task)

    async def answer(
        self,
        worker: str,
        *,
        by: str,
        verdict: Literal["allow", "deny"],
        request: str | None = None,
        message: str | None = None,
    ) -> WorkerView:
        """Answers what an agent asks, where its policy has `ask`; it takes an operator's credentials.

        `by`: whose answer it is; `request`: which one, may be left out where one is open; `message`: for the agent, the
        reason of a `deny` or the choice for a question.
        """
        before = await self.get_worker(worker)
        asked = [it["request"] for it in before.raw.get("inputs", []) if it.get("request")]
        fitting = [it for it in asked if request in (None, it)]
        if len(fitting) != 1:
            known = ", ".join(asked) or "none"
            raise RefusedError("entry.refused", f"worker {worker}: which request is answered? Open are: {known}")
        data: OperatorInputAnswered = {"by": by, "verdict": verdict, "request": fitting[0]}
        if message is not None:
            data["message"] = message
        await self.publish("own.worker", worker, "input.answered", data)
        return await self._confirm_accepted(before, "input.answered")

    async def _confirm_accepted(self, before: WorkerView, kind: str) -> WorkerView:
        after = await self.get_worker(before.worker)
        # The oldest refusals are cut off, so their number tells nothing.
        last = before.refused[-1] if before.refused else None
        known = len(after.refused) - after.refused[::-1].index(last) if last in after.refused else 0
        reasons = [it.reason for it in after.refused[known:] if it.type == kind]
        if reasons:
            raise RefusedError("entry.refused", reasons[-1])
        return after
