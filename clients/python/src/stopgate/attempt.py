"""The fields that a worker reports when it tries to stop (protocol.md §3, `stop.attempted`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from .ids import OUTPUT_BYTES_MAX, last_bytes
from .validation import check_attempt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .entries import Draft, PromiseReport, RuleReport


class AttemptFields(TypedDict, total=False):
    """All fields are optional. Only the last 32 KiB of `output` are sent."""

    attempt: str
    """The attempt's id (default: a new one). A repeated id returns the same decision and counts once."""
    output: str
    """The agent's final message."""
    stop_reason: str
    tool_count: int
    files: Sequence[str]
    """The files it modified, relative to the worker's folder."""
    validation: Sequence[RuleReport]
    """The results of the rules that the worker checked itself."""
    promises: Sequence[PromiseReport]
    draft: Draft
    hold_ms: int
    """How long to hold the stop of an idle worker while it waits for a task, in milliseconds."""


_ON_THE_WIRE = {"stop_reason": "stopReason", "tool_count": "toolCount", "hold_ms": "holdMs"}


def to_wire(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields under their wire names, without those that are None.

    Raises `TypeError` for an unknown field, `InputError` for a value that its field does not accept.
    """
    unknown = fields.keys() - AttemptFields.__annotations__.keys()
    if unknown:
        raise TypeError(f"an attempt has no field {', '.join(sorted(unknown))}")
    sent = {_ON_THE_WIRE.get(key, key): value for key, value in fields.items() if value is not None}
    if isinstance(sent.get("output"), str):
        sent["output"] = last_bytes(sent["output"], OUTPUT_BYTES_MAX)
    check_attempt(sent)
    return sent
