"""Finds the service: the given address, otherwise `STOPGATE_*`, otherwise the running `stopgate dev` of this folder."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import unquote, urlsplit

from .errors import InputError, UnreachableError
from .ids import check_id

if TYPE_CHECKING:
    from collections.abc import Iterator

Role = Literal["agent", "operator", "check"]
_DEFAULT_NATS = "nats://127.0.0.1:4222"
_STORE = ".stopgate"


@dataclass(frozen=True)
class Settings:
    """`servers` without user and password. `login` has them as nats-py expects them."""

    servers: tuple[str, ...]
    fleet: str
    login: dict[str, Any]
    check_login: dict[str, Any]
    inbox: str


def find_settings(
    *,
    nats: str | None,
    fleet: str | None,
    creds: str | Path | None,
    check_creds: str | Path | None,
    role: Role,
    cwd: str | Path | None,
) -> Settings:
    """Raises `InputError` if credentials cannot be read or sent, `UnreachableError` if the service here is down."""
    if role not in get_args(Role):
        raise InputError("input.bad", f"role must be one of {', '.join(get_args(Role))}, not {role!r}")
    folder = Path.cwd() if cwd is None else Path(cwd).resolve()
    store, service = _find_store(folder)
    named = nats or os.environ.get("STOPGATE_NATS")
    url = named or service.get("nats")
    if url is None and store is not None:
        raise UnreachableError(
            "service.unreachable",
            f'no service runs in {store.parent} now; start "stopgate dev" there, or name yours: connect(nats=…)',
        )
    url = url or _DEFAULT_NATS
    name = fleet or os.environ.get("STOPGATE_FLEET") or service.get("fleet") or "main"
    check_id("fleet", name)
    servers, in_url = _read_url(url)
    given = creds or os.environ.get("STOPGATE_CREDS") or None
    if not named and service:
        _refuse_secrets(given or check_creds, url)
        # Only the store's own server may see its credentials.
    own = store if store is not None and not in_url and _same_server(url, service.get("nats")) else None
    login = _login(given, own, role, in_url)
    for_checks = _login(check_creds, own, "check", login) if check_creds or not given else login
    # Agents may subscribe to `_INBOX.>`, so an operator uses another inbox (docs/security/nats.md).
    inbox = "_STOPGATE_INBOX" if role == "operator" and own is not None and not given else "_INBOX"
    return Settings(servers, name, login, for_checks, inbox)


def _refuse_secrets(creds: str | Path | None, url: str) -> None:
    """Decides which addresses may get credentials. People run programs in a checkout without reading its files.

    Any file in it may name any server, and `git clone` makes the user its owner. So an address that comes only from
    files of the folder gets only the credentials of the same store (docs/security.md).
    """
    if creds is None:
        return
    raise InputError(
        "config.bad",
        f"only the files of this folder name {url}, so it does not get your credentials in '{creds}'; if you trust "
        f'that server, name it yourself, with connect(nats="{url}") or STOPGATE_NATS={url}',
    )


def _login(given: str | Path | None, store: Path | None, role: Role, default: dict[str, Any]) -> dict[str, Any]:
    if given:
        return _read_creds(Path(given))
    file = None if store is None or role == "agent" else store / "credentials" / f"{role}.json"
    return _read_creds(file) if file is not None and os.access(file, os.R_OK) and _is_own(file) else default


def _is_own(file: Path) -> bool:
    """False for links: a link in a checkout could point to any file of the user."""
    credentials, store = file.parent, file.parent.parent
    return file.resolve() == store.parent.resolve() / store.name / credentials.name / file.name


def _read_creds(file: Path) -> dict[str, Any]:
    """Reads a NATS `.creds` file, or JSON with `user` and `pass`, as the embedded server writes it."""
    try:
        text = file.read_text()
    except OSError as error:
        raise InputError("input.bad", f"cannot read the credentials '{file}': {error.strerror}") from error
    if not text.lstrip().startswith("{"):
        if "BEGIN NATS USER JWT" in text:
            return {"user_credentials": str(file)}
        raise InputError("input.bad", f'\'{file}\' is not a NATS credentials file, nor JSON with "user" and "pass"')
    try:
        fields = json.loads(text)
        return {"user": str(fields["user"]), "password": str(fields["pass"])}
    except (ValueError, KeyError) as error:
        raise InputError("input.bad", f'\'{file}\' has no "user" and "pass"') from error


def _read_url(url: str) -> tuple[tuple[str, ...], dict[str, Any]]:
    """One or more servers, separated by commas; may contain user and password, or a token."""
    servers: list[str] = []
    login: dict[str, Any] = {}
    for text in (part.strip() for part in url.split(",")):
        full = text if "://" in text else f"nats://{text}"
        parts = urlsplit(full)
        if parts.username:
            user = unquote(parts.username)
            login = {"token": user} if parts.password is None else {"user": user, "password": unquote(parts.password)}
            full = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        servers.append(full)
    return tuple(servers), login


def _same_server(one: str, other: str | None) -> bool:
    def address(text: str) -> tuple[str, str | None, int]:
        parts = urlsplit(text if "://" in text else f"nats://{text}")
        return parts.scheme, parts.hostname, parts.port or 4222

    return other is not None and address(one) == address(other)


def _is_loopback(url: str) -> bool:
    host = urlsplit(url if "://" in url else f"nats://{url}").hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _find_store(cwd: Path) -> tuple[Path | None, dict[str, str]]:
    """Finds the nearest `.stopgate` with a service, from this folder up to the home folder; otherwise the nearest."""
    stores = [(store, _read_service(store, cwd)) for store in _stores_above(cwd)]
    with_service = (found for found in stores if found[1])
    found = next(with_service, stores[0] if stores else None)
    return found or (None, {})


def _stores_above(cwd: Path) -> Iterator[Path]:
    for folder in (cwd, *cwd.parents):
        if (folder / _STORE).is_dir():
            yield folder / _STORE
        if folder == Path.home():
            return


def _read_service(store: Path, cwd: Path) -> dict[str, str]:
    """Empty unless the file can be read and trusted: in a shared folder, a stranger could answer for us."""
    file = store / "service.json"
    try:
        if hasattr(os, "getuid") and file.stat().st_uid not in (os.getuid(), cwd.stat().st_uid):
            return {}
        fields = json.loads(file.read_text())
        # The server of dev listens on loopback, so somebody else wrote any other address.
        if not _is_loopback(fields["nats"]):
            return {}
        return {key: fields[key] for key in ("nats", "fleet") if isinstance(fields[key], str)}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
