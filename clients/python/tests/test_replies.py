"""Malformed replies become errors of this package, and never other exceptions."""

from __future__ import annotations

import math
from typing import Any

import pytest

from stopgate import UnavailableError
from stopgate.bus import parse
from stopgate.errors import error_of


def unavailable(given: object, headers: dict[str, str] | None = None) -> UnavailableError:
    error = error_of(503, {"error": given}, headers or {})
    assert isinstance(error, UnavailableError)
    return error


@pytest.mark.parametrize("given", [None, 7, "text", [], {"issues": 7}, {"issues": {"path": "x"}}, {"message": [1]}])
def test_an_error_with_any_body_is_an_error_of_the_service(given: object) -> None:
    assert unavailable(given).issues == ()


@pytest.mark.parametrize(
    ("milliseconds", "seconds"),
    [(1_500, 1.5), (10**400, 3_600), (math.inf, 3_600), (-1, None), (math.nan, None), ("2", None)],
)
def test_retry_after_is_at_most_an_hour(milliseconds: Any, seconds: float | None) -> None:
    assert unavailable({"retryAfterMs": milliseconds}).retry_after == seconds


@pytest.mark.parametrize(("header", "seconds"), [("2", 2), ("9" * 300, 3_600), ("²", None), ("-1", None), ("", None)])
def test_a_header_that_is_not_a_number_is_ignored(header: str, seconds: float | None) -> None:
    assert unavailable({}, {"Retry-After": header}).retry_after == seconds


def test_json_with_too_many_levels_is_none() -> None:
    assert parse(b"[" * 500_000) is None
