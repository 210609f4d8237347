"""Runs an agent repeatedly, with the next prompt each time, until it may stop."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypedDict

from .errors import StopgateError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .decision import Decision
    from .entries import RuleReport, WorkerPublisher

TURNS_MAX = 50
"""A limit for policies without a cap."""


class TurnFields(TypedDict, total=False):
    """What a turn may report in addition to its final message."""

    output: str
    stop_reason: str
    tool_count: int
    files: Sequence[str]
    validation: Sequence[RuleReport]


Outcome = str | TurnFields | None
Turn = Callable[[str], Outcome | Awaitable[Outcome]]
"""One turn of an agent: it gets the prompt, and returns its final message."""


class TurnsExhaustedError(StopgateError):
    """The agent has used all its turns and may not stop yet. `decision` is the last one."""

    def __init__(self, turns: int, decision: Decision) -> None:
        super().__init__("turns.exhausted", f"after {turns} turns the agent may not stop yet: {decision.reason}")
        self.decision = decision


async def run_until_stopped(
    worker: WorkerPublisher, decide: Callable[..., Awaitable[Decision]], turn: Turn, prompt: str, turns_max: int
) -> Decision:
    """See `StopgateClient.run_until_stopped`. `decide` takes the fields that a turn reports."""
    # A person's prompt resets the retries, so only the first prompt is published.
    await worker.publish("prompt.submitted", {"text": prompt})
    for number in range(1, turns_max + 1):
        outcome = turn(prompt)
        ended = await outcome if inspect.isawaitable(outcome) else outcome
        fields: TurnFields = {"output": ended} if isinstance(ended, str) else (ended or {})
        decision = await decide(**fields)
        if not decision.blocked:
            return decision
        prompt = decision.next_prompt or decision.reason
        if number < turns_max:
            await worker.publish("heartbeat.sent")
    raise TurnsExhaustedError(turns_max, decision)
