"""The errors, by what to do about them. None of them is a verdict (docs/wire.md, "Errors")."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Issue:
    """One problem of a request: its path and a message."""

    path: str
    message: str


class StopgateError(Exception):
    """Every error of this package.

    `code` is the same as in the TypeScript client, such as `service.unreachable`. After `retry_after` seconds the same
    call may succeed; add a random delay. `details` has the other fields of the reply.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        issues: Sequence[Issue] = (),
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.issues = tuple(issues)
        self.details = dict(details or {})
        self.retry_after = retry_after


class InputError(StopgateError):
    """The call is not valid, or this connection may not make it. Repeating it does not help."""


class NotFoundError(StopgateError):
    """There is no such worker, task or queue."""


class RefusedError(StopgateError):
    """Not allowed in the current state; the message says why."""


class CheckError(StopgateError):
    """A function that serves a check returned no result, or took too long."""


class UnavailableError(StopgateError):
    """The service answered that it cannot work at the moment. Nothing was judged."""


class UnreachableError(UnavailableError):
    """There is no server, no service for the fleet, or no answer in time. Nothing was judged."""


_BY_WIRE: Mapping[str, tuple[str, type[StopgateError]]] = {
    "BAD_REQUEST": ("input.bad", InputError),
    "TOO_LARGE": ("entry.large", InputError),
    "BODY_TOO_LARGE": ("payload.large", InputError),
    "UNAUTHORIZED": ("input.unauthorized", InputError),
    "NOT_FOUND": ("actor.unknown", NotFoundError),
    "INCOMPLETE": ("stop.incomplete", RefusedError),
    "REFUSED": ("entry.refused", RefusedError),
    "CHECK_FAILED": ("check.failed", CheckError),
    "UNAVAILABLE": ("log.unavailable", UnavailableError),
    "LOG_LOST": ("log.lost", UnavailableError),
    "RULES_UNKNOWN": ("rules.unknown", UnavailableError),
}
_UNAVAILABLE = 503
_RETRY_SECONDS_MAX = 3_600.0


def error_of(status: int, body: object, headers: Mapping[str, str]) -> StopgateError:
    """The error of a reply with the header `Nats-Service-Error-Code`."""
    fields: dict[str, Any] = dict(body) if isinstance(body, dict) else {}
    raw = fields.pop("error", None)
    given: dict[str, Any] = raw if isinstance(raw, dict) else {}
    default = ("log.unavailable", UnavailableError) if status == _UNAVAILABLE else ("input.bad", InputError)
    code, kind = _BY_WIRE.get(str(given.get("code")), default)
    text = given.get("message") or headers.get("Nats-Service-Error") or f"the service answered {status}"
    found = given.get("issues")
    issues = [
        Issue(path=str(issue.get("path", "")), message=str(issue.get("message", "")))
        for issue in (found if isinstance(found, list) else [])
        if isinstance(issue, dict)
    ]
    return kind(code, str(text), issues=issues, details=fields, retry_after=_retry_after(given, headers))


def _retry_after(given: Mapping[str, Any], headers: Mapping[str, str]) -> float | None:
    """Seconds, at most one hour. The body has milliseconds, the header seconds, rounded up."""
    exact = given.get("retryAfterMs")
    if isinstance(exact, (int, float)) and exact >= 0:  # not NaN
        return min(exact, _RETRY_SECONDS_MAX * 1_000) / 1_000
    rounded = headers.get("Retry-After", "")
    return min(float(rounded), _RETRY_SECONDS_MAX) if re.fullmatch(r"[0-9]{1,300}", rounded) else None
