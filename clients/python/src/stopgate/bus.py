"""The connection to NATS: requests, entries with their acknowledgement, subscriptions. The only importer of nats-py."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import nats.errors
import nats.js.errors
from nats.aio.client import Client as Nats

from .entries import Stored
from .errors import InputError, UnavailableError, UnreachableError, error_of
from .ids import encode

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

log = logging.getLogger("stopgate")

_CONNECT_SECONDS = 5.0
_STORE_SECONDS = 5.0
_FLUSH_SECONDS = 5
# nats-py lower-cases the server's messages.
_FORBIDDEN = re.compile(r'permissions violation for (publish|subscription) to "([^"]+)"')


class Bus:
    """A connection that keeps reconnecting if the server goes away."""

    def __init__(self, fleet: str, inbox: str) -> None:
        self.root = f"stopgate.{fleet}"
        self.nc = Nats()
        self._failures: list[Exception] = []
        self._failed = asyncio.Event()
        # Operations that wait for a permission error. It arrives separately, and a forbidden operation gets no reply.
        self._forbidden: dict[tuple[str, str], set[asyncio.Future[None]]] = {}
        self._inbox = inbox.lower()
        # Set once the server refuses our inbox, to which all replies go. The library subscribes to it only once.
        self._no_replies: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(
        cls, servers: tuple[str, ...], login: Mapping[str, Any], fleet: str, name: str, inbox: str = "_INBOX"
    ) -> Bus:
        """Raises `UnreachableError` (no server, or credentials refused) or `InputError` (nkeys is missing)."""
        if "user_credentials" in login:
            _require_nkeys()
        bus = cls(fleet, inbox)
        connecting = asyncio.ensure_future(bus._connect(servers, login, name, inbox))
        failing = asyncio.ensure_future(bus._all_failed(len(servers)))
        await asyncio.wait({connecting, failing}, timeout=_CONNECT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        failing.cancel()
        if connecting.done() and connecting.exception() is None:
            return bus
        connecting.cancel()
        cause = (connecting.exception() if connecting.done() and not connecting.cancelled() else None) or (
            next(filter(_is_refusal, bus._failures), bus._failures[-1]) if bus._failures else None
        )
        await bus.nc.close()
        raise UnreachableError("service.unreachable", _describe_failure(cause, ", ".join(servers), login)) from cause

    async def _connect(self, servers: tuple[str, ...], login: Mapping[str, Any], name: str, inbox: str) -> None:
        options: dict[str, Any] = {
            "name": name,
            "inbox_prefix": inbox,
            "error_cb": self._on_error,
            **login,
            "max_reconnect_attempts": -1,
            "reconnect_time_wait": 0.25,
            # Detects within twice this time that a server is gone without having closed its side.
            "ping_interval": 5,
            "max_outstanding_pings": 2,
        }
        await self.nc.connect(servers=list(servers), **options)

    async def _all_failed(self, count: int) -> None:
        """Returns when every server has refused. Retries failures that may be temporary until the time is up.

        A server that refuses credentials disconnects at once, so its message may be lost with the connection.
        """
        while sum(_is_refusal(error) for error in self._failures) < count:
            await self._failed.wait()
            self._failed.clear()

    async def _on_error(self, error: Exception) -> None:
        found = _FORBIDDEN.search(str(error))
        if found is None:
            self._failures = [*self._failures[-9:], error]
            self._failed.set()
            log.info("nats: %s", error or type(error).__name__)
            return
        if found[1] == "subscription" and found[2].startswith(f"{self._inbox}.") and not self._no_replies.done():
            self._no_replies.set_result(None)
        for waiting in self._forbidden.get((found[1], found[2]), ()):
            if not waiting.done():
                waiting.set_result(None)

    @asynccontextmanager
    async def _unless_forbidden(self, operation: str, subject: str) -> AsyncIterator[asyncio.Future[None]]:
        key = (operation, subject.lower())
        forbidden: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._forbidden.setdefault(key, set()).add(forbidden)
        try:
            yield forbidden
        finally:
            forbidden.cancel()
            self._forbidden[key].discard(forbidden)
            if not self._forbidden[key]:
                del self._forbidden[key]

    async def request(self, verb: str, tail: str, body: Mapping[str, Any], timeout: float) -> Any:
        """The reply as JSON. Raises the service's error, or `UnreachableError` if nobody answered in time."""
        subject = f"{self.root}.{verb}.{tail}"
        payload = encode("request", body)
        async with self._unless_forbidden("publish", subject) as forbidden:
            asking = asyncio.ensure_future(self.nc.request(subject, payload, timeout=timeout))
            waiting: set[asyncio.Future[Any]] = {asking, forbidden, self._no_replies}
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if forbidden.done() or (self._no_replies.done() and not asking.done()):
                    what = f"request '{subject}'" if forbidden.done() else "receive replies"
                    raise InputError(
                        "input.unauthorized", f"the NATS server does not let us {what}: nothing was judged"
                    )
                reply = await asking
            except nats.errors.NoRespondersError as error:
                raise _unreachable(
                    subject, f"no stopgate service serves fleet '{subject.split('.')[1]}' here"
                ) from error
            except (asyncio.TimeoutError, nats.errors.TimeoutError) as error:
                raise _unreachable(subject, f"no answer within {timeout:g} s") from error
            except (nats.errors.Error, OSError) as error:
                raise _unreachable(subject, str(error) or type(error).__name__) from error
            finally:
                asking.cancel()
        headers = reply.headers or {}
        status = headers.get("Nats-Service-Error-Code", "")
        reply_body = parse(reply.data)
        if status.isascii() and status.isdigit():
            raise error_of(int(status), reply_body, headers)
        return reply_body

    async def store(self, tail: str, payload: bytes, message_id: str | None) -> Stored:
        """Publishes to the log, and waits for the stream's acknowledgement.

        Raises `InputError` if this connection may not publish that, `UnavailableError` if it may not have been stored.
        """
        subject = f"{self.root}.{tail}"
        headers = None if message_id is None else {"Nats-Msg-Id": message_id}
        stream = self.nc.jetstream()
        async with self._unless_forbidden("publish", subject) as forbidden:
            storing = asyncio.ensure_future(stream.publish(subject, payload, timeout=_STORE_SECONDS, headers=headers))
            try:
                waiting: set[asyncio.Future[Any]] = {storing, forbidden}
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if forbidden.done():
                    raise InputError("input.unauthorized", f"the NATS server does not let us publish '{subject}'")
                ack = await storing
            except (nats.errors.Error, nats.js.errors.Error, asyncio.TimeoutError, OSError) as error:
                fleet = self.root.partition(".")[2]
                no_log = (
                    f"no log of fleet '{fleet}' answers on this NATS server: "
                    "no service has served it yet, or its stream has no leader now"
                )
                is_no_log = isinstance(error, nats.js.errors.NoStreamResponseError)
                why = no_log if is_no_log else str(error) or type(error).__name__
                raise UnavailableError(
                    "log.unavailable", f"'{subject}' was not stored: {why}", retry_after=2
                ) from error
            finally:
                storing.cancel()
        return Stored(seq=ack.seq, duplicate=bool(ack.duplicate))

    async def subscribe(
        self, subject: str, on_message: Callable[[Msg], Awaitable[None]], *, queue: str = ""
    ) -> Subscription:
        """Active once it returns. Raises `InputError` if this connection may not subscribe."""
        async with self._unless_forbidden("subscription", subject) as forbidden:
            try:
                subscription = await self.nc.subscribe(subject, queue=queue, cb=on_message)
                await self._settle()
            except (nats.errors.Error, OSError) as error:
                raise _unreachable(subject, str(error) or type(error).__name__) from error
            if not forbidden.done():
                return subscription
        if not queue:
            raise InputError("input.unauthorized", f"this connection may not subscribe to '{subject}'")
        message = (
            f"this connection may not serve '{subject}': connect with credentials that may, "
            "check.json in .stopgate/credentials of the service's folder (check_creds)"
        )
        raise InputError("input.unauthorized", message)

    async def _settle(self) -> None:
        """Returns when the server has processed everything sent before. By then a refusal has arrived.

        nats-py sends the first ping ahead of data that is still buffered, so only the second one comes after it.
        """
        for _ in range(2):
            await self.nc.flush(_FLUSH_SECONDS)

    async def close(self) -> None:
        """Sends buffered data, and disconnects."""
        try:
            await self._settle()
        except (nats.errors.Error, asyncio.TimeoutError, OSError) as error:
            log.info("nats: %s", error)  # the server is gone
        await self.nc.close()


def _is_refusal(error: BaseException) -> bool:
    return isinstance(error, socket.gaierror) or "Connect call failed" in str(error) or _is_about_credentials(error)


def _is_about_credentials(error: BaseException | None) -> bool:
    return isinstance(error, nats.errors.AuthorizationError) or "authorization" in str(error).lower()


def _unreachable(subject: str, why: str) -> UnreachableError:
    return UnreachableError("service.unreachable", f"'{subject}': {why}: nothing was judged")


def nobody_serves(error: UnavailableError) -> bool:
    """True if nobody responds at the moment: a service may be about to start."""
    return isinstance(error.__cause__, nats.errors.NoRespondersError)


def parse(data: bytes) -> Any:
    """Returns None if it is not JSON, or is nested too deeply."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _describe_failure(cause: BaseException | None, servers: str, login: Mapping[str, Any]) -> str:
    text = str(cause) or type(cause).__name__
    if _is_about_credentials(cause):
        why = "refused the credentials" if login else "requires credentials: connect(creds=…)"
        return f"the NATS server at {servers} {why}"
    why = f"no answer within {_CONNECT_SECONDS:g} s" if cause is None else text
    return f'no NATS server at {servers}: {why}; start one with "stopgate dev", or name yours: connect(nats=…)'


def _require_nkeys() -> None:
    try:
        import nkeys  # noqa: F401, PLC0415
    except ImportError as error:
        message = "a .creds file needs nkeys: pip install 'nats-py[nkeys]'"
        raise InputError("input.bad", message) from error
