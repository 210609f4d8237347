"""Starts the shipped service with its own NATS server, in a temporary folder."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import pytest

from stopgate import StopgateClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[3]
POLICIES = """
policies:
  planned: { checks: [{ plan: {} }] }
  sized: { checks: [{ remote: size }] }
  strict: { checks: [{ remote: broken, onError: block }] }
  done: { retries: null, checks: [{ remote: done, onError: block }] }
  asked: { ask: 5m }
  held: { persistence: { idle: 10m, queue: quiet } }
"""
PATIENCE_SECONDS = 30


class Service:
    """A running `stopgate dev`, with its folder and NATS address."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        (folder / "stopgate.yaml").write_text(POLICIES)
        settings = {key: value for key, value in os.environ.items() if not key.startswith("STOPGATE_")}
        self.process = subprocess.Popen(
            ["node", str(ROOT / "dist/src/main.js"), "dev", "--port", "0", "--http", "off", *arguments],  # noqa: S607
            cwd=folder,
            env=settings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.communicate(timeout=PATIENCE_SECONDS)[1])
        self.nats: str = json.loads(line)["nats"]

    def stop(self) -> None:
        """Stops it and its NATS server cleanly."""
        self.process.terminate()
        self.process.communicate(timeout=PATIENCE_SECONDS)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    started = Service(tmp_path_factory.mktemp("service"))
    yield started
    started.stop()


class Connect(Protocol):
    """Connects like a program in the folder of the service."""

    async def __call__(self, *, role: Literal["agent", "operator"] = "agent") -> StopgateClient: ...


@pytest.fixture
def connect(service: Service) -> Connect:
    return functools.partial(StopgateClient.connect, cwd=service.folder)


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("STOPGATE_")]:
        monkeypatch.delenv(name)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs each coroutine in its own event loop, with a timeout."""
    test: Callable[..., Any] = pyfuncitem.obj
    if not inspect.iscoroutinefunction(test):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in inspect.signature(test).parameters}
    asyncio.run(asyncio.wait_for(test(**given), PATIENCE_SECONDS * 2))
    return True
