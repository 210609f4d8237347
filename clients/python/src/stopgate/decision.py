"""The service's replies: decisions, verifications, results of hooks (protocol.md §5 and §7)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

from .errors import StopgateError
from .reading import Fields

if TYPE_CHECKING:
    from collections.abc import Mapping

Action = Literal["complete", "continue", "escalate"]
_ACTIONS = ("complete", "continue", "escalate")
State = Literal["idle", "working", "validating", "blocked", "escalated", "stopped"]
Cause = Literal[
    "retired", "escalated", "bypassed", "limited", "waiting", "capped", "incomplete", "stuck", "pending-tasks", "idle",
    "idle-timeout", "budget", "unjudged", "complete", "no-policy", "superseded", "unknown",
]  # fmt: skip


@dataclass(frozen=True)
class Feedback:
    """Feedback of a check that failed, could not be run, or only warns."""

    check: str
    outcome: Literal["fail", "error", "timeout", "warn"]
    message: str
    details: Any


@dataclass(frozen=True)
class Verdict:
    """The verdict of one guard. `input` and `took_ms` are set only if it decided or failed with an error."""

    guard: str
    verdict: Literal["pass", "block", "allow", "error"]
    detail: str
    input: Mapping[str, Any] | None
    took_ms: float | None


@dataclass(frozen=True)
class Count:
    """`max` is None without a cap."""

    count: int
    max: int | None


@dataclass(frozen=True)
class Idle:
    """`limit_ms` is None if persistence is off, or has no timeout."""

    ms: float
    limit_ms: float | None
    remaining_ms: float | None


@dataclass(frozen=True)
class PolicyUsed:
    """`seq`: the entry that set it; 0 for the built-in policy."""

    name: str
    seq: int


@dataclass(frozen=True)
class Decision:
    """May the worker stop, and why? `raw` is the unchanged reply."""

    fleet: str
    worker: str
    task: str | None
    tasks: tuple[str, ...]
    """All tasks that it holds, in the order of its claims; `task` is the last."""
    attempt: str | None
    """None for a probe and a verification."""
    seq: int | None
    at: str
    decision: Literal["allow", "block"]
    action: Action
    cause: Cause
    reason: str
    next_prompt: str | None
    """The text for the agent."""
    feedback: tuple[Feedback, ...]
    state: State
    """The worker's state after the decision."""
    retry: Count
    keep_alives: Count
    idle: Idle
    pending_tasks: int
    policy: PolicyUsed
    verdicts: tuple[Verdict, ...]
    """Every guard that ran, in order; the one that decided is the last."""
    replica: str
    took_ms: float
    dry_run: bool
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def blocked(self) -> bool:
        """The agent must continue."""
        return self.decision == "block"

    @property
    def complete(self) -> bool:
        """Everything asked for is done: not capped, bypassed or unjudged."""
        return self.decision == "allow" and self.cause in ("complete", "no-policy")


class IncompleteError(StopgateError):
    """The final verification found the work incomplete. The message is the decision's reason."""

    def __init__(self, decision: Decision) -> None:
        super().__init__("stop.incomplete", decision.reason)
        self.decision = decision

    @property
    def feedback(self) -> tuple[Feedback, ...]:
        """The feedback of the checks that failed."""
        return self.decision.feedback


@dataclass(frozen=True)
class Verification:
    """Whether the work of a worker is complete."""

    complete: bool
    decision: Decision


@dataclass(frozen=True)
class TaskVerification:
    """Whether a task is complete, by a judgement."""

    complete: bool
    said: bool
    """True if its worker reported completion, but no check judged it."""
    reason: str
    decision: Decision | None
    """None for a task without a holder that was never judged."""


@dataclass(frozen=True)
class HookResult:
    """The answer of a task's hooks for an iteration."""

    fleet: str
    attempt: str | None
    hook_id: str
    task_id: str
    iteration: int
    action: Action
    reason: str
    next_prompt: str | None
    checkpoint_created: bool
    metadata: Mapping[str, Any]


def read_decision(reply: object) -> Decision:
    """Raises `UnreachableError`: this is not a decision."""
    fields = Fields("decision", reply)
    return Decision(
        fleet=fields.take("fleet", str),
        worker=fields.take("worker", str),
        task=fields.maybe("task", str),
        tasks=fields.texts("tasks"),
        attempt=fields.maybe("attempt", str),
        seq=fields.maybe("seq", int),
        at=fields.take("at", str),
        decision=cast("Literal['allow', 'block']", fields.choice("decision", ("allow", "block"))),
        action=cast("Action", fields.choice("action", _ACTIONS)),
        cause=cast("Cause", fields.take("cause", str)),
        reason=fields.take("reason", str),
        next_prompt=fields.maybe("nextPrompt", str),
        feedback=tuple(_read_feedback(each) for each in fields.each("feedback")),
        state=cast("State", fields.take("state", str)),
        retry=_read_count(fields.inner("retry")),
        keep_alives=_read_count(fields.inner("keepAlives")),
        idle=_read_idle(fields.inner("idle")),
        pending_tasks=fields.take("pendingTasks", int),
        policy=_read_policy(fields.inner("policy")),
        verdicts=tuple(_read_verdict(each) for each in fields.each("verdicts")),
        replica=fields.take("replica", str),
        took_ms=fields.take("tookMs", float),
        dry_run=fields.take("dryRun", bool),
        raw=fields.raw,
    )


def read_hook_result(reply: object) -> HookResult:
    """Raises `UnreachableError`: this is not the result of a hook."""
    fields = Fields("hook result", reply)
    return HookResult(
        fleet=fields.take("fleet", str),
        attempt=fields.maybe("attempt", str),
        hook_id=fields.take("hookId", str),
        task_id=fields.take("taskId", str),
        iteration=fields.take("iteration", int),
        action=cast("Action", fields.choice("action", _ACTIONS)),
        reason=fields.take("reason", str),
        next_prompt=fields.maybe("nextPrompt", str),
        checkpoint_created=fields.take("checkpointCreated", bool),
        metadata=fields.take("metadata", dict),
    )


def _read_feedback(fields: Fields) -> Feedback:
    return Feedback(
        check=fields.take("check", str),
        outcome=cast("Literal['fail', 'error', 'timeout', 'warn']", fields.take("outcome", str)),
        message=fields.take("message", str),
        details=fields.raw.get("details"),
    )


def _read_verdict(fields: Fields) -> Verdict:
    return Verdict(
        guard=fields.take("guard", str),
        verdict=cast("Literal['pass', 'block', 'allow', 'error']", fields.take("verdict", str)),
        detail=fields.take("detail", str),
        input=fields.maybe("input", dict),
        took_ms=fields.maybe("tookMs", float),
    )


def _read_count(fields: Fields) -> Count:
    return Count(count=fields.take("count", int), max=fields.maybe("max", int))


def _read_idle(fields: Fields) -> Idle:
    return Idle(
        ms=fields.take("ms", float),
        limit_ms=fields.maybe("limitMs", float),
        remaining_ms=fields.maybe("remainingMs", float),
    )


def _read_policy(fields: Fields) -> PolicyUsed:
    return PolicyUsed(name=fields.take("name", str), seq=fields.take("seq", int))
