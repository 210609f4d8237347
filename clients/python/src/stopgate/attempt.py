"""What a worker says when it tries to stop (docs/protocol.md §3, `stop.attempted`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from .ids import OUTPUT_BYTES_MAX, last_bytes
from .validation import check_attempt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .entries import Draft, PromiseReport, RuleReport


class AttemptFields(TypedDict, total=False):
    """Each may be left out. Only the last 32 KiB of `output` are sent."""

    attempt: str
    """Its id. A repeated one gives the same decision and counts once; without one it gets one."""
    output: str
    """The agent's final message."""
    stop_reason: str
    tool_count: int
    files: Sequence[str]
    """What it changed, from the worker's folder."""
    validation: Sequence[RuleReport]
    """The results of its own rules."""
    promises: Sequence[PromiseReport]
    draft: Draft
    hold_ms: int
    """How long to wait for a task before a worker that is idle is told to go on, in milliseconds."""


_ON_THE_WIRE = {"stop_reason": "stopReason", "tool_count": "toolCount", "hold_ms": "holdMs"}


def to_wire(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The same under the names of the wire, without what is None.

    Raises `TypeError` for a field that is none, `InputError` for a value that is not what its field takes.
    """
    unknown = fields.keys() - AttemptFields.__annotations__.keys()
    if unknown:
        raise TypeError(f"an attempt has no field {', '.join(sorted(unknown))}")
    sent = {_ON_THE_WIRE.get(key, key): value for key, value in fields.items() if value is not None}
    if isinstance(sent.get("output"), str):
        sent["output"] = last_bytes(sent["output"], OUTPUT_BYTES_MAX)
    check_attempt(sent)
    return sent
