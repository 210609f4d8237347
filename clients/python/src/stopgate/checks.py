"""Serves a check or a hook: the user's function, called by the service (protocol.md §8)."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import nats.errors

from .errors import CheckError
from .ids import check_id
from .reading import Fields
from .slots import FairSlots

if TYPE_CHECKING:
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

    from .bus import Bus
    from .decision import Action

log = logging.getLogger("stopgate")

_GROUP = "stopgate-check"
_DRAIN_SECONDS = 2.0
TIMEOUT_SECONDS = 600.0
"""Longer than any policy waits. Ends checks that would occupy their slot, and delay `close`, forever.

A plain function cannot be ended: its thread continues without a slot.
"""
CONCURRENCY = 16


@dataclass(frozen=True)
class RuleResult:
    """The result of one validation rule, as reported by the agent."""

    rule_name: str
    passed: bool
    message: str | None = None


@dataclass(frozen=True)
class CompletionPromise:
    """A promise that the agent made in its output."""

    type: Literal["COMPLETE", "BLOCKED", "ESCALATE"]
    detected: bool
    content: str
    detected_at: str | None = None
    """Detection time as reported."""


@dataclass(frozen=True)
class PlanStep:
    """A step of the worker's plan."""

    title: str
    status: str
    step: str | None = None


@dataclass(frozen=True)
class AgentContext:
    """The context that a check or hook receives."""

    task_id: str | None
    """None for a policy check of a worker that holds no task. Always set for hooks."""
    iteration: int
    """1-based; 0 before the first iteration."""
    execution_phase: str | None
    files_modified: tuple[str, ...]
    validation_results: tuple[RuleResult, ...]
    completion_promises: tuple[CompletionPromise, ...]
    agent_output: str | None
    draft_content: str | None
    draft_type: str | None
    worker: str | None
    """None while an iteration of an unclaimed task is validated."""
    attempt: str | None
    retry_count: int
    """Number of stops blocked so far."""
    tool_count: int
    stop_reason: str
    cwd: str | None
    """The worker's folder, as reported by the worker."""
    plan: tuple[PlanStep, ...]


@dataclass(frozen=True)
class StopHookResult:
    """Complete, continue or escalate."""

    action: Action
    reason: str
    next_prompt: str | None = None
    checkpoint_data: Any = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class ValidationResult:
    """Whether the work is complete, and why. `feedback` is shown to the agent as data."""

    complete: bool
    reason: str = ""
    feedback: Any = None

    def render(self) -> str:
        """The status, then the reason."""
        return f"[{'complete' if self.complete else 'incomplete'}] {self.reason}"


@dataclass(frozen=True)
class TaskCompletionResult:
    """The result of a completion checker: `ok()`, or `incomplete(feedback)`."""

    complete: bool
    feedback: str | None = None

    @classmethod
    def ok(cls) -> TaskCompletionResult:
        """Everything is done."""
        return cls(complete=True)

    @classmethod
    def incomplete(cls, feedback: str) -> TaskCompletionResult:
        """Something is left."""
        return cls(complete=False, feedback=feedback)


@dataclass(frozen=True)
class PendingResult:
    """No result yet, for example while a pipeline runs.

    The stop stays open, the worker's view shows the reason, and the service asks again until the check's `timeout`.
    `retry_after`: delay before the next request, in seconds. Default 10; clamped to 1-600.
    """

    reason: str = ""
    retry_after: float | None = None


CheckReply = StopHookResult | ValidationResult | TaskCompletionResult | PendingResult | Mapping[str, Any]
"""A mapping has the fields of the wire: `complete` and `reason`, `action` and `reason`, or `pending` and `reason`."""
CheckFunction = Callable[[AgentContext], CheckReply | Awaitable[CheckReply]]
"""A plain function runs in a thread, so that it may block."""


class ServedCheck:
    """A check that this process serves."""

    def __init__(self, name: str, subscription: Subscription, running: set[asyncio.Task[None]]) -> None:
        self.name = name
        self._subscription = subscription
        self._running = running

    async def close(self) -> None:
        """Stops accepting requests, and returns when the accepted ones are answered."""
        # A server that is gone acknowledges nothing, and sends no more requests.
        with contextlib.suppress(nats.errors.Error, asyncio.TimeoutError):
            drained: Awaitable[None] = self._subscription.drain()  # type: ignore[no-untyped-call]
            await asyncio.wait_for(drained, _DRAIN_SECONDS)
        while self._running:
            await asyncio.wait(set(self._running))


async def serve_check(bus: Bus, name: str, check: CheckFunction, timeout: float, concurrency: int) -> ServedCheck:
    """Serves a check. Raises `InputError` if `name` is not an id, or if this connection may not serve checks."""
    check_id("check", name)
    slots = FairSlots(name, concurrency)
    running: set[asyncio.Task[None]] = set()

    async def answer(message: Msg) -> None:
        headers = None
        try:
            context = read_context(message.data)
            await slots.acquire(context.worker)
            try:
                body = encode_reply(await asyncio.wait_for(_call(check, context), timeout))
            finally:
                slots.release()
        except asyncio.TimeoutError:
            body, headers = _failure(f"no result within {timeout:g} s")
        except Exception as error:  # noqa: BLE001 - any exception of the user's function is an error of the check
            body, headers = _failure(str(error) or type(error).__name__)
        if len(body) > bus.nc.max_payload:
            large = f"the result has {len(body)} bytes, and the NATS server accepts at most {bus.nc.max_payload}"
            log.warning("check %s: %s", name, large)
            body, headers = _failure(f"{large}: return a shorter one")
        # If the connection is closed, the service gets no reply and reports that.
        with contextlib.suppress(nats.errors.Error):
            await bus.nc.publish(message.reply, body, headers=headers)

    async def take(message: Msg) -> None:
        task = asyncio.ensure_future(answer(message))
        running.add(task)
        task.add_done_callback(running.discard)

    subscription = await bus.subscribe(f"{bus.root}.check.{name}", take, queue=_GROUP)
    return ServedCheck(name, subscription, running)


async def _call(check: CheckFunction, context: AgentContext) -> object:
    try:
        result = check(context) if inspect.iscoroutinefunction(check) else await asyncio.to_thread(check, context)
        return await result if inspect.isawaitable(result) else result
    except asyncio.TimeoutError as error:  # raised by the function itself, so not our timeout
        raise CheckError("check.failed", str(error) or type(error).__name__) from error


def _failure(message: str) -> tuple[bytes, dict[str, str]]:
    """An error of the check, which never passes. `onError` of the policy or hook decides what it means."""
    line = " ".join(message.split())[:500] or "unknown error"
    body = json.dumps({"error": {"code": "CHECK_FAILED", "message": line, "issues": []}})
    # Headers are read byte by byte.
    return body.encode(), {"Nats-Service-Error-Code": "500", "Nats-Service-Error": line}


def read_context(payload: bytes) -> AgentContext:
    """Raises `InputError` if the payload is not a check request."""
    fields = Fields("check request", json.loads(payload))
    return AgentContext(
        task_id=fields.maybe("task", str),
        iteration=fields.maybe("iteration", int) or 0,
        execution_phase=fields.maybe("phase", str),
        files_modified=tuple(str(file) for file in fields.maybe("filesModified", list) or []),
        validation_results=tuple(
            RuleResult(
                rule_name=rule.take("rule", str), passed=rule.take("passed", bool), message=rule.maybe("message", str)
            )
            for rule in _each(fields, "validationResults")
        ),
        completion_promises=tuple(
            CompletionPromise(
                type=cast("Literal['COMPLETE', 'BLOCKED', 'ESCALATE']", promise.take("type", str)),
                detected=promise.take("detected", bool),
                content=promise.take("content", str),
                detected_at=promise.maybe("detectedAt", str),
            )
            for promise in _each(fields, "completionPromises")
        ),
        agent_output=fields.maybe("agentOutput", str),
        draft_content=fields.maybe("draftContent", str),
        draft_type=fields.maybe("draftType", str),
        worker=fields.maybe("worker", str),
        attempt=fields.maybe("attempt", str),
        retry_count=fields.maybe("retryCount", int) or 0,
        tool_count=fields.maybe("toolCount", int) or 0,
        stop_reason=fields.maybe("stopReason", str) or "end_turn",
        cwd=fields.maybe("cwd", str),
        plan=tuple(
            PlanStep(title=step.take("title", str), status=step.take("status", str), step=step.maybe("step", str))
            for step in _each(fields, "plan")
        ),
    )


def _each(fields: Fields, key: str) -> list[Fields]:
    return [] if fields.raw.get(key) is None else fields.each(key)


def encode_reply(result: object) -> bytes:
    """The reply on the wire. Raises `CheckError` if it is not a valid result."""
    if isinstance(result, StopHookResult):
        given = asdict(result)
        fields: dict[str, Any] = {
            **{key: given[key] for key in ("action", "reason", "metadata")},
            "nextPrompt": result.next_prompt,
            "checkpointData": result.checkpoint_data,
        }
    elif isinstance(result, ValidationResult):
        fields = {"complete": result.complete, "reason": result.reason or None, "feedback": result.feedback}
    elif isinstance(result, TaskCompletionResult):
        fields = {"complete": result.complete, "reason": result.feedback}
    elif isinstance(result, PendingResult):
        again = None if result.retry_after is None else round(result.retry_after * 1_000)
        fields = {"pending": True, "reason": result.reason or None, "retryAfterMs": again}
    elif isinstance(result, Mapping):
        fields = dict(result)
    else:
        fields = {}
    if fields.get("pending"):
        good = fields["pending"] is True
    elif "action" in fields:
        good = fields["action"] in ("complete", "continue", "escalate") and isinstance(fields.get("reason"), str)
    else:
        good = isinstance(fields.get("complete"), bool)
    if not good:
        forms = "StopHookResult(action, reason), ValidationResult(complete, reason) or PendingResult(reason)"
        raise CheckError("check.failed", f"the check did not return a result ({forms}) but {result!r:.200}")
    return json.dumps({key: value for key, value in fields.items() if value is not None}).encode()
