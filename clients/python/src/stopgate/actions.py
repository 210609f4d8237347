"""Actions of a worker or an operator that may be refused. The worker's view shows whether they were."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Literal

from .entries import EntryPublisher, OperatorInputAnswered, TaskFailed
from .errors import RefusedError

if TYPE_CHECKING:
    from .views import TaskView, WorkerView


class ActionCalls(EntryPublisher):
    """Each call returns the state it led to, or raises `RefusedError` with the reason if it changed nothing."""

    @abstractmethod
    async def get_worker(self, worker: str) -> WorkerView:
        """The current state of a worker."""

    @abstractmethod
    async def get_task(self, task: str) -> TaskView:
        """The current state of a task."""

    async def fail_task(self, worker: str, task: str, reason: str | None = None) -> TaskView:
        """Escalates the task to a person, with the reason."""
        before = await self.get_worker(worker)
        data: TaskFailed = {"task": task}
        if reason is not None:
            data["reason"] = reason
        await self.publish("worker", worker, "task.failed", data)
        await self._confirm_accepted(before, "task.failed")
        return await self.get_task(task)

    async def release_task(self, worker: str, task: str) -> TaskView:
        """Releases the task: it is `idle` again, and another worker may claim it."""
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
        """Answers a request of an agent whose policy has `ask`. This needs an operator's credentials.

        `by`: the operator's name. `request`: the id of the request, optional if only one is open. `message`: text for
        the agent, the reason for a `deny` or the answer to a question.
        """
        before = await self.get_worker(worker)
        open_requests = [item["request"] for item in before.raw.get("inputs", []) if item.get("request")]
        matching = [each for each in open_requests if request in (None, each)]
        if len(matching) != 1:
            known = ", ".join(open_requests) or "none"
            raise RefusedError("entry.refused", f"name one open request of worker {worker}; open requests: {known}")
        data: OperatorInputAnswered = {"by": by, "verdict": verdict, "request": matching[0]}
        if message is not None:
            data["message"] = message
        await self.publish("own.worker", worker, "input.answered", data)
        return await self._confirm_accepted(before, "input.answered")

    async def _confirm_accepted(self, before: WorkerView, kind: str) -> WorkerView:
        after = await self.get_worker(before.worker)
        # The service drops the oldest refusals, so their number means nothing.
        last = before.refused[-1] if before.refused else None
        known = len(after.refused) - after.refused[::-1].index(last) if last in after.refused else 0
        reasons = [refused.reason for refused in after.refused[known:] if refused.type == kind]
        if reasons:
            raise RefusedError("entry.refused", reasons[-1])
        return after
