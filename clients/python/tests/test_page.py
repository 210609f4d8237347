"""docs/python.md names every call and every error."""

from __future__ import annotations

import inspect

from conftest import ROOT

import stopgate

PAGE = (ROOT / "docs/python.md").read_text()


def test_the_page_names_every_call() -> None:
    calls = [name for name, _ in inspect.getmembers(stopgate.StopgateClient, callable) if not name.startswith("_")]
    assert "decide" in calls
    assert [name for name in calls if f"`{name}`" not in PAGE and f".{name}()`" not in PAGE] == []


def test_the_page_names_every_error() -> None:
    errors = [name for name in stopgate.__all__ if name.endswith("Error")]
    assert "UnreachableError" in errors
    assert [name for name in errors if f"`{name}`" not in PAGE] == []
