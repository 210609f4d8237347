"""The entries of the log: the fields of every entry that a client publishes (docs/protocol.md §3).

Written by generate_entries.py from the service's own schema; do not edit.
"""

# ruff: noqa: D101, E501

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Stored:
    """`seq` is the sequence in the log; with `duplicate`, that of an earlier entry with this message id."""

    seq: int
    duplicate: bool


class WorkerRegistered(TypedDict, total=False):
    agent: str
    profile: str
    policy: str
    queue: str
    parent: str
    cwd: str
    labels: Mapping[str, str]
    interactive: bool


class WorkerMoved(TypedDict):
    cwd: str


class HeartbeatSent(TypedDict, total=False):
    mode: str


class PromptSubmitted(TypedDict, total=False):
    text: str
    by: Literal["person", "agent", "system"]


class _ToolStarted(TypedDict):
    tool: str


class ToolStarted(_ToolStarted, total=False):
    call: str


class _ToolUsed(TypedDict):
    tool: str


class ToolUsed(_ToolUsed, total=False):
    ok: bool
    files: Sequence[str]
    call: str
    changes: str
    command: str


class _Step(TypedDict):
    title: str
    status: str


class Step(_Step, total=False):
    step: str


class PlanUpdated(TypedDict):
    steps: Sequence[Step]


class _StepUpdated(TypedDict):
    step: str


class StepUpdated(_StepUpdated, total=False):
    title: str
    status: str


class _TaskClaimed(TypedDict):
    task: str


class TaskClaimed(_TaskClaimed, total=False):
    request: str


class _TaskCompleted(TypedDict):
    task: str


class TaskCompleted(_TaskCompleted, total=False):
    result: Any


class _TaskFailed(TypedDict):
    task: str


class TaskFailed(_TaskFailed, total=False):
    reason: str


class TaskReleased(TypedDict):
    task: str


class _BackgroundStarted(TypedDict):
    id: str


class BackgroundStarted(_BackgroundStarted, total=False):
    kind: str
    command: str


class _BackgroundFinished(TypedDict):
    id: str


class BackgroundFinished(_BackgroundFinished, total=False):
    kind: str


class InputRequested(TypedDict, total=False):
    kind: str
    message: str
    request: str
    tool: str
    detail: Any


class InputReceived(TypedDict, total=False):
    kind: str
    message: str
    request: str
    tool: str
    detail: Any


class LimitReached(TypedDict, total=False):
    scope: str
    until: str


class LimitCleared(TypedDict, total=False):
    scope: str
    until: str


class BudgetExhausted(TypedDict, total=False):
    kind: str


class UsageReported(TypedDict, total=False):
    input: float
    output: float
    cacheRead: float
    cacheWrite: float
    usd: float
    model: str
    source: str


class _RuleReport(TypedDict):
    rule: str
    passed: bool


class RuleReport(_RuleReport, total=False):
    message: str


class _PromiseReport(TypedDict):
    type: Literal["COMPLETE", "BLOCKED", "ESCALATE"]
    detected: bool
    content: str


class PromiseReport(_PromiseReport, total=False):
    detectedAt: str


class Draft(TypedDict, total=False):
    content: str
    type: str


class StopAttempted(TypedDict, total=False):
    attempt: str
    stopReason: str
    output: str
    toolCount: int
    files: Sequence[str]
    validation: Sequence[RuleReport]
    promises: Sequence[PromiseReport]
    draft: Draft
    holdMs: int
    unjudged: str


class SessionEnded(TypedDict, total=False):
    reason: str


class TaskCreated(TypedDict, total=False):
    title: str
    queue: str
    plan: Sequence[Step]
    policy: str
    after: Sequence[str]
    priority: int


class TaskCancelled(TypedDict, total=False):
    reason: str


class When(TypedDict, total=False):
    iterationAtLeast: int
    phase: str
    filesMatch: str
    filesModified: bool
    label: str


class _HookForm(TypedDict):
    type: Literal["default", "validation", "promise", "remote", "all", "any", "tdd", "security", "checkpoint"]


class HookForm(_HookForm, total=False):
    of: Sequence[HookForm]
    name: str
    when: When
    onError: Literal["escalate", "skip"]
    metadata: Mapping[str, Any]


class _HookRegistered(TypedDict):
    type: Literal["default", "validation", "promise", "remote", "all", "any", "tdd", "security", "checkpoint"]


class HookRegistered(_HookRegistered, total=False):
    of: Sequence[HookForm]
    name: str
    when: When
    onError: Literal["escalate", "skip"]
    metadata: Mapping[str, Any]
    hook: str
    enabled: bool


class HookEnabled(TypedDict):
    hook: str


class HookDisabled(TypedDict):
    hook: str


class HookUnregistered(TypedDict):
    hook: str


class HooksCleared(TypedDict, total=False):
    pass


class IterationStartedBreakers(TypedDict, total=False):
    failures: int


class _IterationStarted(TypedDict):
    iteration: int
    maxIterations: int


class IterationStarted(_IterationStarted, total=False):
    completionPromises: Sequence[Literal["COMPLETE", "BLOCKED", "ESCALATE"]]
    rules: Sequence[str]
    breakers: IterationStartedBreakers


class _IterationValidated(TypedDict):
    iteration: int


class IterationValidated(_IterationValidated, total=False):
    attempt: str
    stopReason: str
    output: str
    toolCount: int
    files: Sequence[str]
    validation: Sequence[RuleReport]
    promises: Sequence[PromiseReport]
    draft: Draft
    holdMs: int
    unjudged: str


class IterationAdvanced(TypedDict, total=False):
    pass


class IterationCompleted(TypedDict):
    iteration: int
    promise: Literal["COMPLETE", "BLOCKED", "ESCALATE"]


class _CheckpointSaved(TypedDict):
    checkpoint: str


class CheckpointSaved(_CheckpointSaved, total=False):
    phase: str
    step: str | float
    context: Any


class DepthReported(TypedDict):
    pending: int


class _OperatorEscalationAcknowledged(TypedDict):
    by: str


class OperatorEscalationAcknowledged(_OperatorEscalationAcknowledged, total=False):
    seq: int


class OperatorEscalationResolvedGrant(TypedDict, total=False):
    tokens: int
    usd: float
    turns: int
    time: int


class _OperatorEscalationResolved(TypedDict):
    by: str
    verdict: Literal["resume", "stop"]


class OperatorEscalationResolved(_OperatorEscalationResolved, total=False):
    prompt: str
    grant: OperatorEscalationResolvedGrant
    seq: int


class _OperatorInputAnswered(TypedDict):
    by: str
    request: str
    verdict: Literal["allow", "deny"]


class OperatorInputAnswered(_OperatorInputAnswered, total=False):
    message: str


class OperatorWorkerRetired(TypedDict):
    by: str


class _OperatorWorkerPaused(TypedDict):
    by: str


class OperatorWorkerPaused(_OperatorWorkerPaused, total=False):
    forMs: int


class OperatorWorkerUnpaused(TypedDict):
    by: str


class EntryPublisher(ABC):
    """Publishes entries, with typed fields."""

    # fmt: off
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["worker.registered"], data: WorkerRegistered | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["worker.moved"], data: WorkerMoved, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["heartbeat.sent"], data: HeartbeatSent | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["prompt.submitted"], data: PromptSubmitted | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["tool.started"], data: ToolStarted, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["tool.used"], data: ToolUsed, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["plan.updated"], data: PlanUpdated, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["step.updated"], data: StepUpdated, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["task.claimed"], data: TaskClaimed, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["task.completed"], data: TaskCompleted, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["task.failed"], data: TaskFailed, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["task.released"], data: TaskReleased, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["background.started"], data: BackgroundStarted, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["background.finished"], data: BackgroundFinished, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["input.requested"], data: InputRequested | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["input.received"], data: InputReceived | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["limit.reached"], data: LimitReached | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["limit.cleared"], data: LimitCleared | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["budget.exhausted"], data: BudgetExhausted | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["usage.reported"], data: UsageReported | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["stop.attempted"], data: StopAttempted | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["worker"], entity_id: str, kind: Literal["session.ended"], data: SessionEnded | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["task"], entity_id: str, kind: Literal["task.created"], data: TaskCreated | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["task"], entity_id: str, kind: Literal["task.cancelled"], data: TaskCancelled | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["task"], entity_id: str, kind: Literal["hook.registered"], data: HookRegistered, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["task"], entity_id: str, kind: Literal["hook.enabled"], data: HookEnabled, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["task"], entity_id: str, kind: Literal["hook.disabled"], data: HookDisabled, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["task"], entity_id: str, kind: Literal["hook.unregistered"], data: HookUnregistered, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["task"], entity_id: str, kind: Literal["hooks.cleared"], data: HooksCleared | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["task"], entity_id: str, kind: Literal["iteration.started"], data: IterationStarted, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["task"], entity_id: str, kind: Literal["iteration.validated"], data: IterationValidated, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["task"], entity_id: str, kind: Literal["iteration.advanced"], data: IterationAdvanced | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["task"], entity_id: str, kind: Literal["iteration.completed"], data: IterationCompleted, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["task"], entity_id: str, kind: Literal["checkpoint.saved"], data: CheckpointSaved, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["queue"], entity_id: str, kind: Literal["depth.reported"], data: DepthReported, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["own.worker"], entity_id: str, kind: Literal["escalation.acknowledged"], data: OperatorEscalationAcknowledged, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["own.worker"], entity_id: str, kind: Literal["escalation.resolved"], data: OperatorEscalationResolved, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["own.worker"], entity_id: str, kind: Literal["input.answered"], data: OperatorInputAnswered, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["own.worker"], entity_id: str, kind: Literal["worker.retired"], data: OperatorWorkerRetired, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["own.worker"], entity_id: str, kind: Literal["worker.paused"], data: OperatorWorkerPaused, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["own.worker"], entity_id: str, kind: Literal["worker.unpaused"], data: OperatorWorkerUnpaused, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["own.task"], entity_id: str, kind: Literal["escalation.acknowledged"], data: OperatorEscalationAcknowledged, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["own.task"], entity_id: str, kind: Literal["escalation.resolved"], data: OperatorEscalationResolved, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, entity: Literal["own.queue"], entity_id: str, kind: Literal["escalation.acknowledged"], data: OperatorEscalationAcknowledged, *, message_id: str | None = None) -> Stored: ...
    # fmt: on

    async def publish(
        self, entity: str, entity_id: str, kind: str, data: Any = None, *, message_id: str | None = None
    ) -> Stored:
        """Stores an entry, and returns when the stream has acknowledged it.

        `data` has the fields of the entry, under their names on the wire. Entries with the same `message_id` within 2
        minutes are stored once. `own.worker`, `own.task` and `own.queue` need an operator's credentials.

        Raises `InputError` if it is not a valid entry, `UnavailableError` if it may not have been stored.
        """
        return await self._store(entity, entity_id, kind, data or {}, message_id)

    @abstractmethod
    async def _store(
        self, entity: str, entity_id: str, kind: str, data: Mapping[str, Any], message_id: str | None
    ) -> Stored: ...


class WorkerPublisher(ABC):
    """Publishes entries about one worker."""

    # fmt: off
    @overload
    async def publish(self, kind: Literal["worker.registered"], data: WorkerRegistered | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, kind: Literal["worker.moved"], data: WorkerMoved, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, kind: Literal["heartbeat.sent"], data: HeartbeatSent | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, kind: Literal["prompt.submitted"], data: PromptSubmitted | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, kind: Literal["tool.started"], data: ToolStarted, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, kind: Literal["tool.used"], data: ToolUsed, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, kind: Literal["plan.updated"], data: PlanUpdated, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, kind: Literal["step.updated"], data: StepUpdated, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, kind: Literal["task.claimed"], data: TaskClaimed, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, kind: Literal["task.completed"], data: TaskCompleted, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, kind: Literal["task.failed"], data: TaskFailed, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, kind: Literal["task.released"], data: TaskReleased, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, kind: Literal["background.started"], data: BackgroundStarted, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, kind: Literal["background.finished"], data: BackgroundFinished, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, kind: Literal["input.requested"], data: InputRequested | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, kind: Literal["input.received"], data: InputReceived | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, kind: Literal["limit.reached"], data: LimitReached | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, kind: Literal["limit.cleared"], data: LimitCleared | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, kind: Literal["budget.exhausted"], data: BudgetExhausted | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, kind: Literal["usage.reported"], data: UsageReported | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, kind: Literal["stop.attempted"], data: StopAttempted | None = None, *, message_id: str | None = None) -> Stored: ...
    @overload
    async def publish(self, kind: Literal["session.ended"], data: SessionEnded | None = None, *, message_id: str | None = None) -> Stored: ...
    # fmt: on

    async def publish(self, kind: str, data: Any = None, *, message_id: str | None = None) -> Stored:
        """Stores an entry about this worker; see `StopgateClient.publish`."""
        return await self._store(kind, data or {}, message_id)

    @abstractmethod
    async def _store(self, kind: str, data: Mapping[str, Any], message_id: str | None) -> Stored: ...
