"""Ids (protocol.md §1), and the maximum sizes of entries and requests (§2)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from .errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}\Z")
_PAYLOAD_BYTES_MAX = 65_536
OUTPUT_BYTES_MAX = 32_768
"""Maximum output of an attempt. Its end matters most."""


def check_id(what: str, value: str) -> str:
    """Returns `value`. Raises `InputError` if it is not an id."""
    if isinstance(value, str) and _ID.match(value):
        return value
    rule = "letters, digits, _ and - (128 at most)"
    raise InputError("input.bad", f"'{str(value)[:140]}' is not the id of a {what}: {rule}")


def encode(what: str, body: Mapping[str, Any]) -> bytes:
    """The body as JSON. Raises `InputError` if it is over 64 KiB, or not JSON."""
    try:
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        payload = text.encode()
    except (TypeError, ValueError) as error:
        raise InputError("input.bad", f"this {what} is not JSON: {error}") from error
    if len(payload) > _PAYLOAD_BYTES_MAX:
        message = f"the {what} has {len(payload)} bytes; the limit is {_PAYLOAD_BYTES_MAX}"
        raise InputError("entry.large", message)
    return payload


def last_bytes(text: str, most: int) -> str:
    """The last bytes of a text, cut at a whole character."""
    return text.encode(errors="replace")[-most:].decode(errors="ignore")
