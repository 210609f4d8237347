"""A missing or faulty service is an error, and never a decision."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

import nats
import pytest

from stopgate import InputError, StopgateClient, UnavailableError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Service
    from nats.aio.client import Client as Nats
    from nats.aio.msg import Msg

FLEET = "stand-in"


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[str]:
    """Starts a NATS server without a service."""
    program = shutil.which("nats-server", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program is not None
    config = tmp_path / "nats.conf"
    config.write_text("authorization { users: [{ user: operator, password: right }] }")
    command = [program, "-p", "-1", "-a", "127.0.0.1", "-js", "-sd", str(tmp_path / "store"), "-c", str(config)]
    server = subprocess.Popen([*command, "--ports_file_dir", str(tmp_path)], stderr=subprocess.DEVNULL)
    try:
        while not (found := [text for file in tmp_path.glob("*.ports") if (text := file.read_text())]):
            assert server.poll() is None
            time.sleep(0.01)
        yield json.loads(found[0])["nats"][0].replace("//", "//operator:right@")
    finally:
        server.terminate()
        server.wait()


async def service_connection(service: Service) -> Nats:
    """Connects with permission to reply like the service."""
    login = json.loads((service.folder / ".stopgate/credentials/service.json").read_text())
    return await nats.connect(service.nats, user=login["user"], password=login["pass"])


async def test_a_missing_server_is_reported_at_once() -> None:
    with pytest.raises(UnreachableError, match=r"no NATS server at nats://127.0.0.1:1: .*stopgate dev"):
        await StopgateClient.connect("nats://127.0.0.1:1", cwd="/")


async def test_refused_credentials_are_reported(bare: str, tmp_path: Path) -> None:
    bare = bare.replace("operator:right@", "")
    with pytest.raises(UnreachableError, match="requires credentials"):
        await StopgateClient.connect(bare, cwd="/")
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"user": "operator", "pass": "wrong"}')
    with pytest.raises(UnreachableError, match="refused the credentials"):
        await StopgateClient.connect(bare, creds=wrong, cwd="/")
    for text, words in (("{}", 'has no "user"'), ("x", "is not a NATS credentials file")):
        wrong.write_text(text)
        with pytest.raises(InputError, match=words):
            await StopgateClient.connect(bare, creds=wrong)
    with pytest.raises(InputError, match="cannot read the credentials"):
        await StopgateClient.connect(bare, creds=tmp_path / "none.json")


async def test_in_a_folder_whose_service_is_down_no_other_service_is_asked(tmp_path: Path) -> None:
    (tmp_path / ".stopgate").mkdir()
    with pytest.raises(UnreachableError, match="no service runs in"):
        await StopgateClient.connect(cwd=tmp_path)


async def test_the_environment_names_the_service(bare: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STOPGATE_NATS", bare)
    monkeypatch.setenv("STOPGATE_FLEET", FLEET)
    async with await StopgateClient.connect(cwd="/") as client:
        assert client.fleet == FLEET


async def test_a_fleet_without_a_service_is_an_error(bare: str) -> None:
    async with await StopgateClient.connect(bare, fleet="empty", cwd="/") as client:
        with pytest.raises(
            UnreachableError, match=r"no stopgate service serves fleet 'empty' here.*nothing was judged"
        ):
            await client.decide("w1")
        with pytest.raises(UnavailableError, match="was not stored"):
            await client.publish("worker", "w1", "heartbeat.sent")


async def test_a_call_ends_although_a_listener_that_is_not_a_service_receives_it(
    bare: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stopgate.client._LOOK_SECONDS", 0.2)
    watcher = await nats.connect(bare)

    async def hear(_: Msg) -> None:
        pass

    await watcher.subscribe("stopgate.>", cb=hear)
    await watcher.flush()
    async with await StopgateClient.connect(bare, fleet="empty", cwd="/") as client:
        for asking in (client.decide("w1"), client.verify("w1"), client.probe("w1")):
            with pytest.raises(UnreachableError, match="no stopgate service answers for fleet 'empty'"):
                await asking
    await watcher.close()


async def test_a_call_that_the_server_does_not_permit_is_an_error(service: Service) -> None:
    check = service.folder / ".stopgate/credentials/check.json"
    async with await StopgateClient.connect(service.nats, creds=check, cwd="/") as client:
        for asking in (client.get_worker("w1"), client.decide("w1"), client.publish("worker", "w1", "heartbeat.sent")):
            with pytest.raises(InputError, match="does not let us") as caught:
                await asking
            assert caught.value.code == "input.unauthorized"


async def test_a_late_answer_is_an_error(service: Service) -> None:
    server = await service_connection(service)

    async def never(_: Msg) -> None:
        pass

    await server.subscribe(f"stopgate.{FLEET}.decide.w1", cb=never)
    await server.flush()
    async with await StopgateClient.connect(service.nats, fleet=FLEET, cwd="/") as client:
        with pytest.raises(UnreachableError, match="nothing was judged") as caught:
            await client.decide("w1", timeout=0.2)
        assert caught.value.code == "service.unreachable"
    await server.close()


async def test_after_a_lost_answer_the_same_attempt_is_repeated(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stopgate.client._ASK_AGAIN_SECONDS", 0.2)
    async with await StopgateClient.connect(cwd=service.folder) as real:
        decision = await real.decide("w1")
    server = await service_connection(service)
    asked: list[str] = []

    async def second_time(message: Msg) -> None:
        asked.append(json.loads(message.data)["attempt"])
        if len(asked) > 1:
            await message.respond(json.dumps(decision.raw).encode())

    await server.subscribe(f"stopgate.{FLEET}.decide.w1", cb=second_time)
    await server.flush()
    async with await StopgateClient.connect(service.nats, fleet=FLEET, cwd="/") as client:
        assert (await client.decide("w1")).decision == "allow"
    assert asked[0] == asked[1]
    await server.close()


@pytest.mark.parametrize(
    ("code", "retry_after"), [("UNAVAILABLE", 1.5), ("LOG_LOST", None), ("RULES_UNKNOWN", None), ("NEW", None)]
)
async def test_an_unavailable_service_says_when_to_retry(
    service: Service, code: str, retry_after: float | None
) -> None:
    server = await service_connection(service)
    hint = {} if retry_after is None else {"retryAfterMs": retry_after * 1_000}

    async def busy(message: Msg) -> None:
        body = json.dumps({"error": {"code": code, "message": "not now", "issues": [], **hint}})
        headers = {"Nats-Service-Error-Code": "503", "Nats-Service-Error": "not now"}
        await server.publish(message.reply, body.encode(), headers=headers)

    await server.subscribe(f"stopgate.{FLEET}.decide.w1", cb=busy)
    await server.flush()
    async with await StopgateClient.connect(service.nats, fleet=FLEET, cwd="/") as client:
        with pytest.raises(UnavailableError, match="not now") as caught:
            await client.decide("w1")
        assert caught.value.retry_after == retry_after
    await server.close()


async def test_another_replica_answers_when_one_stops(service: Service) -> None:
    async with await StopgateClient.connect(cwd=service.folder) as real:
        decision = await real.decide("w1")
    server = await service_connection(service)
    asked: list[str] = []

    async def stops(message: Msg) -> None:
        asked.append(json.loads(message.data)["attempt"])
        body = json.dumps({"error": {"code": "UNAVAILABLE", "message": "this replica is stopping", "issues": []}})
        await first.unsubscribe()
        await server.publish(message.reply, body.encode(), headers={"Nats-Service-Error-Code": "503"})

    async def continues(message: Msg) -> None:
        asked.append(json.loads(message.data)["attempt"])
        await message.respond(json.dumps(decision.raw).encode())

    first = await server.subscribe(f"stopgate.{FLEET}.decide.w1", cb=stops)
    await server.flush()
    async with await StopgateClient.connect(service.nats, fleet=FLEET, cwd="/") as client:
        deciding = asyncio.create_task(client.decide("w1"))
        while not asked:  # noqa: ASYNC110 - each turn lets the others run
            await asyncio.sleep(0)
        await server.subscribe(f"stopgate.{FLEET}.decide.w1", cb=continues)
        assert (await deciding).decision == "allow"
    assert asked == [asked[0], asked[0]]
    await server.close()


@pytest.mark.parametrize("reply", ["", "[]", "{}", '{"decision": "maybe"}'])
async def test_an_answer_that_is_not_a_decision_is_an_error(service: Service, reply: str) -> None:
    server = await service_connection(service)

    async def odd(message: Msg) -> None:
        await message.respond(reply.encode())

    await server.subscribe(f"stopgate.{FLEET}.decide.w1", cb=odd)
    await server.flush()
    async with await StopgateClient.connect(service.nats, fleet=FLEET, cwd="/") as client:
        with pytest.raises(UnreachableError, match="is not a decision"):
            await client.decide("w1")
    await server.close()


async def test_it_reconnects_and_requests_made_meanwhile_are_answered(tmp_path_factory: pytest.TempPathFactory) -> None:
    from conftest import Service  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("restarted")
    first = await asyncio.to_thread(Service, folder)
    port = first.nats.rpartition(":")[2]
    client = await StopgateClient.connect(first.nats)
    try:
        await client.decide("w1", attempt="a1")
        await asyncio.to_thread(first.stop)
        second = await asyncio.to_thread(Service, folder, "--port", port)
        try:
            assert (await client.decide("w1", attempt="a2")).decision == "allow"
        finally:
            await asyncio.to_thread(second.stop)
    finally:
        await client.close()
