"""A hostile checkout may name a server in `.stopgate`, but gets no secret of the user."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stopgate import InputError, StopgateClient
from stopgate.settings import Settings, find_settings

if TYPE_CHECKING:
    from conftest import Service

SERVER = "nats://127.0.0.1:5001"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Writes credentials of the user, outside the checkout."""
    file = tmp_path / "mine.json"
    file.write_text('{"user": "me", "pass": "secret"}')
    return file


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    folder = tmp_path / "checkout"
    (folder / ".stopgate" / "credentials").mkdir(parents=True)
    plant(folder)
    return folder


def plant(folder: Path, nats: str = SERVER) -> None:
    service = {"nats": nats, "http": None, "fleet": "main", "pid": 1}
    (folder / ".stopgate" / "service.json").write_text(json.dumps(service))


def find(folder: Path, *, nats: str | None = None, creds: Path | None = None, check: Path | None = None) -> Settings:
    return find_settings(nats=nats, fleet=None, creds=creds, check_creds=check, role="operator", cwd=folder)


def test_a_role_that_does_not_exist_is_refused(checkout: Path) -> None:
    with pytest.raises(InputError, match="role must be one of agent, operator, check, not 'admin'"):
        find_settings(nats=None, fleet=None, creds=None, check_creds=None, role="admin", cwd=checkout)  # type: ignore[arg-type]


REFUSAL = (
    r"^only the files of this folder name nats://127\.0\.0\.1:5001, so it does not get your credentials in "
    r"'.*mine\.json'; if you trust that server, name it yourself, with connect\(nats=.* or STOPGATE_NATS="
)


def test_credentials_do_not_go_to_a_server_that_the_folder_names(
    checkout: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=REFUSAL) as caught:
        find(checkout, creds=mine)
    assert caught.value.code == "config.bad"
    with pytest.raises(InputError, match=REFUSAL):
        find(checkout, check=mine)
    monkeypatch.setenv("STOPGATE_CREDS", str(mine))
    with pytest.raises(InputError, match=REFUSAL):
        find(checkout)


async def test_a_client_refuses_to_send_such_credentials(service: Service, mine: Path) -> None:
    with pytest.raises(InputError, match="does not get your credentials"):
        await StopgateClient.connect(creds=mine, cwd=service.folder)


def test_credentials_go_to_a_server_that_the_user_names_and_to_the_default_one(
    checkout: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = {"user": "me", "password": "secret"}
    assert find(checkout, nats="nats://mine.example", creds=mine).login == login
    assert find(checkout, nats=SERVER, creds=mine).login == login
    assert find(checkout.parent, creds=mine).login == login
    monkeypatch.setenv("STOPGATE_NATS", SERVER)
    assert find(checkout, creds=mine).login == login


def test_credentials_of_the_store_go_only_to_its_server_and_must_not_be_links(checkout: Path, mine: Path) -> None:
    kept = checkout / ".stopgate" / "credentials" / "operator.json"
    kept.write_text('{"user": "operator", "pass": "kept"}')
    assert find(checkout).login == {"user": "operator", "password": "kept"}
    assert find(checkout, nats="nats://elsewhere.example").login == {}
    kept.unlink()
    kept.symlink_to(mine)
    assert find(checkout).login == {}


@pytest.mark.parametrize("nats", ["nats://evil.example:4222", "evil.example", "nats://10.0.0.1:4222", "nats://:1"])
def test_a_service_of_another_machine_is_ignored(checkout: Path, nats: str) -> None:
    plant(checkout, nats)
    with pytest.raises(Exception, match="no service runs in"):
        find(checkout)
