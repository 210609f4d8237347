"""The client: asks whether a worker may stop, publishes what it does, serves checks and hooks."""

from __future__ import annotations

import asyncio
import logging
import random
import time
import uuid
from typing import TYPE_CHECKING, Any

from .actions import ActionCalls
from .attempt import AttemptFields, to_wire
from .bus import Bus, nobody_serves, parse
from .checkers import TaskCompletionChecker, to_check
from .checks import CONCURRENCY, TIMEOUT_SECONDS, CheckFunction, ServedCheck, serve_check
from .decision import (
    Decision,
    HookResult,
    IncompleteError,
    TaskVerification,
    Verification,
    read_decision,
    read_hook_result,
)
from .entries import Stored, WorkerPublisher
from .errors import InputError, RefusedError, StopgateError, UnavailableError, UnreachableError
from .hooks import HookCalls
from .ids import check_id, encode
from .loop import TURNS_MAX, Turn, run_until_stopped
from .reading import Fields
from .settings import Role, Settings, find_settings
from .validation import check_entry
from .views import (
    EscalationFilter,
    ListFilter,
    Page,
    PersonWait,
    QueueView,
    TaskView,
    WorkerView,
    read_person_wait,
    read_queue,
    read_task,
    read_worker,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription
    from typing_extensions import Self, Unpack

log = logging.getLogger("stopgate")

_ANSWER_SECONDS = 600.0
"""Timeout of a decision, without its hold. Checks may be slow."""
_ASK_AGAIN_SECONDS = 30.0
"""Timeout of one request. Its replica may be gone; a repeat of the attempt gets the same decision."""
_AWAY_SECONDS = 5.0
"""How long to tolerate a service without responders: a replica may be starting or handing over."""
_PAUSE_SECONDS = 0.25
_LOOK_SECONDS = 5.0
"""How often to query the service while a request is unanswered, and the timeout of the query."""
_QUERY_SECONDS = 5.0
_CLAIM_SECONDS = 30.0


class StopgateClient(HookCalls, ActionCalls):
    """One fleet of a stopgate service. Create it with `await StopgateClient.connect()`; `async with` closes it.

    Every call may raise `UnreachableError` (nobody answered: nothing was judged), `UnavailableError` (the service
    cannot work at the moment) and `InputError` (the call is not valid). No error is a verdict.
    """

    def __init__(self, bus: Bus, settings: Settings, name: str) -> None:
        self.fleet = settings.fleet
        self._bus = bus
        self._settings = settings
        self._name = name
        self._check_bus: Bus | None = None
        self._opening = asyncio.Lock()
        self._served: set[ServedCheck] = set()
        self._stop_hooks = {}

    @classmethod
    async def connect(
        cls,
        nats: str | None = None,
        *,
        fleet: str | None = None,
        creds: str | Path | None = None,
        check_creds: str | Path | None = None,
        role: Role = "agent",
        cwd: str | Path | None = None,
        name: str = "stopgate client",
    ) -> Self:
        """Connects to NATS.

        Without arguments it finds the service like the command line: `STOPGATE_NATS`, `STOPGATE_FLEET` and
        `STOPGATE_CREDS`, otherwise the running `stopgate dev` of this folder (`cwd`) or a parent, otherwise
        `nats://127.0.0.1:4222` and `main`.

        `nats`: one or more servers, separated by commas; may contain user and password. `creds`: a NATS `.creds` file,
        or JSON `{"user", "pass"}`. `check_creds`: the same for serving checks and hooks, if `creds` may not; those of
        `stopgate dev` are found. `role="operator"` uses the operator's credentials of `stopgate dev`.

        Raises `UnreachableError` if there is no server or it refuses, `InputError` if the credentials cannot be read.
        """
        settings = find_settings(nats=nats, fleet=fleet, creds=creds, check_creds=check_creds, role=role, cwd=cwd)
        return cls(
            await Bus.open(settings.servers, settings.login, settings.fleet, name, settings.inbox), settings, name
        )

    async def close(self) -> None:
        """Answers the open calls to served checks, then disconnects."""
        await asyncio.gather(*(served.close() for served in self._served))
        self._served.clear()
        if self._check_bus is not None:
            await self._check_bus.close()
        await self._bus.close()

    async def __aenter__(self) -> Self:
        """Returns the connected client."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the client."""
        await self.close()

    def worker(self, worker: str) -> WorkerHandle:
        """The calls for one worker."""
        return WorkerHandle(self, check_id("worker", worker))

    async def decide(self, worker: str, *, timeout: float | None = None, **attempt: Unpack[AttemptFields]) -> Decision:
        """May it stop? `timeout`: how long to wait, in seconds (default: 10 minutes plus the hold).

        Repeats the request if its replica dies. The attempt counts once.
        """
        check_id("worker", worker)
        body = {**to_wire(attempt), "attempt": attempt.get("attempt") or uuid.uuid4().hex}
        left = timeout if timeout is not None else _ANSWER_SECONDS + attempt.get("hold_ms", 0) / 1_000
        return read_decision(await self._while_served(self._ask_until_answered("decide", worker, body, left)))

    async def _judge(self, verb: str, entity_id: str, body: Mapping[str, Any], timeout: float) -> object:
        return await self._while_served(self._bus.request(verb, entity_id, body, timeout))

    async def _while_served(self, asking: Coroutine[Any, Any, object]) -> object:
        """Waits for an answer as long as the fleet has a service.

        Without one, a request may reach another listener, such as a person who watches the bus, and would never be
        answered.
        """
        answer = asyncio.ensure_future(asking)
        looking = asyncio.ensure_future(self._look_for_service())
        try:
            await asyncio.wait({answer, looking}, return_when=asyncio.FIRST_COMPLETED)
            return answer.result() if answer.done() else looking.result()
        finally:
            answer.cancel()
            looking.cancel()

    async def _look_for_service(self) -> None:
        """Raises `UnreachableError` once no service answers a simple query."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            try:
                await self._bus.request("list", "workers", {"limit": 1}, _LOOK_SECONDS)
            except UnreachableError as error:
                if nobody_serves(error) or isinstance(error.__cause__, (asyncio.TimeoutError, TimeoutError)):
                    message = (
                        f"no stopgate service answers for fleet '{self.fleet}'; start one with \"stopgate serve\" or "
                        '"stopgate dev", or choose another fleet: nothing was judged'
                    )
                    raise UnreachableError("service.unreachable", message) from error
            except StopgateError as error:
                log.debug("the service answers: %s", error)

    async def _ask_until_answered(self, verb: str, worker: str, body: Mapping[str, Any], seconds: float) -> object:
        ends = time.monotonic() + seconds
        gone: float | None = None  # when the service stopped responding
        while True:
            wait = max(0.001, min(_ASK_AGAIN_SECONDS, ends - time.monotonic()))
            try:
                return await self._bus.request(verb, worker, body, wait)
            except UnavailableError as error:
                now = time.monotonic()
                if isinstance(error.__cause__, (asyncio.TimeoutError, TimeoutError)):
                    gone = None
                    if now >= ends:
                        raise
                    continue
                if error.code != "log.unavailable" and not nobody_serves(error):
                    raise
                gone = now if gone is None else gone
                pause = max(_PAUSE_SECONDS, error.retry_after or 0) + random.uniform(0, _PAUSE_SECONDS)  # noqa: S311
                if now + pause > min(ends, gone + _AWAY_SECONDS):
                    raise
                await asyncio.sleep(pause)

    async def claim_next(
        self, worker: str, *, queue: str | None = None, request: str | None = None, timeout: float = _CLAIM_SECONDS
    ) -> TaskView | None:
        """Claims the first ready task of the queue (default: the worker's). None if no task is waiting.

        Highest priority first, then oldest first. Repeating the same `request` returns the same task.
        """
        check_id("worker", worker)
        body = {"request": request or uuid.uuid4().hex, **({} if queue is None else {"queue": queue})}
        reply = await self._ask_until_answered("claim-next", worker, body, timeout)
        if isinstance(reply, dict) and "task" in reply and reply["task"] is None:
            return None
        return read_task(reply)

    async def probe(
        self, worker: str, *, timeout: float = _ANSWER_SECONDS, **attempt: Unpack[AttemptFields]
    ) -> Decision:
        """Would it be allowed to stop? Nothing is logged or counted."""
        check_id("worker", worker)
        return read_decision(await self._judge("probe", worker, to_wire(attempt), timeout))

    async def verify(
        self, worker: str, *, timeout: float = _ANSWER_SECONDS, **attempt: Unpack[AttemptFields]
    ) -> Verification:
        """Is its work complete? Only the causes `complete` and `no-policy` count as complete."""
        check_id("worker", worker)
        try:
            return Verification(True, read_decision(await self._judge("verify", worker, to_wire(attempt), timeout)))
        except RefusedError as error:
            if error.code != "stop.incomplete":
                raise
            return Verification(False, read_decision(error.details.get("decision")))

    async def verify_task(
        self, task: str, *, timeout: float = _ANSWER_SECONDS, **attempt: Unpack[AttemptFields]
    ) -> TaskVerification:
        """Was this task judged complete? Raises `NotFoundError` for an unknown task."""
        check_id("task", task)
        try:
            decision = read_decision(await self._judge("verify-task", task, to_wire(attempt), timeout))
        except RefusedError as error:
            if error.code != "stop.incomplete":
                raise
            judged = error.details.get("decision")
            said = error.details.get("said") is True
            return TaskVerification(False, said, error.message, None if judged is None else read_decision(judged))
        return TaskVerification(True, False, decision.reason, decision)

    async def assert_complete(
        self, worker: str, *, timeout: float = _ANSWER_SECONDS, **attempt: Unpack[AttemptFields]
    ) -> Decision:
        """Like `verify`, but raises `IncompleteError` if the work is not complete.

        A failure to verify raises another error.
        """
        verified = await self.verify(worker, timeout=timeout, **attempt)
        if not verified.complete:
            raise IncompleteError(verified.decision)
        return verified.decision

    async def evaluate(
        self, task: str, iteration: int, *, timeout: float = _ANSWER_SECONDS, **attempt: Unpack[AttemptFields]
    ) -> HookResult:
        """Evaluates the hooks of a task for this iteration. Raises `RefusedError` with the reason."""
        check_id("task", task)
        body = {**to_wire(attempt), "iteration": iteration}
        return read_hook_result(await self._judge("evaluate", task, body, timeout))

    async def run_until_stopped(self, worker: str, turn: Turn, prompt: str, *, turns_max: int = TURNS_MAX) -> Decision:
        """Runs turns of an agent until it may stop, and returns the decision that allowed it.

        `turn` gets the prompt of the first turn, then the next prompt of each block, and returns the agent's final
        message (or its `output` with `files`, `validation` and so on). `Decision.complete` says whether the work is
        done: a cap or an escalation lets an agent stop too.

        Raises `TurnsExhaustedError` after `turns_max` turns, and whatever `turn` raises. If nobody answers, it raises
        `UnreachableError`: the caller decides what happens then.
        """
        return await self.worker(worker).run_until_stopped(turn, prompt, turns_max=turns_max)

    async def get_worker(self, worker: str) -> WorkerView:
        """The worker after all entries stored before this call. Raises `NotFoundError`."""
        return read_worker(await self._get("worker", worker))

    async def get_task(self, task: str, *, checkpoint: str | None = None) -> TaskView:
        """The task, with its latest checkpoint (or the named one) in `raw`. Raises `NotFoundError`."""
        return read_task(await self._get("task", task, {} if checkpoint is None else {"checkpoint": checkpoint}))

    async def get_queue(self, queue: str) -> QueueView:
        """The queue. Raises `NotFoundError`."""
        return read_queue(await self._get("queue", queue))

    async def _get(self, entity: str, entity_id: str, body: Mapping[str, Any] | None = None) -> object:
        check_id(entity, entity_id)
        return await self._bus.request("get", f"{entity}.{entity_id}", body or {}, _QUERY_SECONDS)

    async def list_workers(self, **given: Unpack[ListFilter]) -> Page[WorkerView]:
        """A page of the workers that match."""
        items, following = await self._list("workers", given)
        return Page(tuple(read_worker(each) for each in items), following)

    async def list_tasks(self, **given: Unpack[ListFilter]) -> Page[TaskView]:
        """A page of the tasks that match."""
        items, following = await self._list("tasks", given)
        return Page(tuple(read_task(each) for each in items), following)

    async def list_queues(self, **given: Unpack[ListFilter]) -> Page[QueueView]:
        """A page of the queues that match."""
        items, following = await self._list("queues", given)
        return Page(tuple(read_queue(each) for each in items), following)

    async def list_escalations(self, **given: Unpack[EscalationFilter]) -> Page[PersonWait]:
        """A page of everything that waits for a person: escalated workers and tasks, and requests of agents."""
        items, following = await self._list("escalations", given)
        return Page(tuple(read_person_wait(each) for each in items), following)

    async def _list(self, entities: str, given: Mapping[str, Any]) -> tuple[list[object], str | None]:
        page = Fields(f"page of {entities}", await self._bus.request("list", entities, given, _QUERY_SECONDS))
        return page.take("items", list), page.maybe("next", str)

    async def on_decision(
        self, worker: str | None, listener: Callable[[Decision], Awaitable[None] | None]
    ) -> Subscription:
        """Calls `listener` with each later decision about a worker, or about all workers if `worker` is None.

        `await subscription.unsubscribe()` ends this.
        """
        if worker is not None:
            check_id("worker", worker)

        async def hear(message: Msg) -> None:
            try:
                decision = read_decision(parse(message.data))
            except UnreachableError:
                return  # anyone may publish on a bus without permissions
            result = listener(decision)
            if result is not None:
                await result

        return await self._bus.subscribe(f"{self._bus.root}.decision.{worker or '*'}", hear)

    async def serve_check(
        self,
        name: str,
        check: CheckFunction | TaskCompletionChecker,
        *,
        timeout: float = TIMEOUT_SECONDS,
        concurrency: int = CONCURRENCY,
        roots: Sequence[str | Path] = (".",),
    ) -> ServedCheck:
        """Serves the check `remote: <name>` until it is closed. Processes that serve the same name share its requests.

        `check` gets an `AgentContext` and returns a `ValidationResult`, a `StopHookResult` or a mapping. An exception,
        or a result after `timeout` seconds, is an error of the check and never passes. At most `concurrency` calls run
        at the same time.

        A checker has a method `check` instead, which gets a `TaskCompletionContext`. It may read files if the worker's
        folder is in one of `roots` (default: the working directory).

        Raises `InputError` if the credentials do not allow it.
        """
        if concurrency < 1:
            raise InputError("input.bad", f"concurrency must be at least 1, not {concurrency}")
        served = await serve_check(await self._bus_for_checks(), name, to_check(check, roots), timeout, concurrency)
        self._served.add(served)
        return served

    async def _bus_for_checks(self) -> Bus:
        """Opens a separate connection if needed: the embedded server's user for checks may only serve checks."""
        settings = self._settings
        if settings.check_login == settings.login:
            return self._bus
        async with self._opening:
            if self._check_bus is None:
                self._check_bus = await Bus.open(settings.servers, settings.check_login, self.fleet, self._name)
        return self._check_bus

    async def _store(
        self, entity: str, entity_id: str, kind: str, data: Mapping[str, Any], message_id: str | None
    ) -> Stored:
        check_id(entity, entity_id)
        check_entry(entity, kind, data)
        stored = await self._bus.store(f"{entity}.{entity_id}.{kind}", encode("entry", data), message_id)
        await self._raise_if_refused(entity.removeprefix("own."), entity_id, stored.seq)
        return stored

    async def _raise_if_refused(self, entity: str, entity_id: str, seq: int) -> None:
        """Raises if the service refused the entry: the log also stores entries that are not valid at the moment.

        Does not raise if no service answers, since the entry is stored.
        """
        if entity == "queue":
            return
        try:
            await self._bus.request("get", f"{entity}.{entity_id}", {"entry": seq}, _QUERY_SECONDS)
        except RefusedError as error:
            if error.code == "entry.refused":
                raise
        except (UnavailableError, InputError) as error:
            log.debug("cannot tell whether entry %d was refused: %s", seq, error)


class WorkerHandle(WorkerPublisher):
    """The calls of a client for one worker."""

    def __init__(self, client: StopgateClient, worker: str) -> None:
        self.id = worker
        self._client = client

    async def decide(self, *, timeout: float | None = None, **attempt: Unpack[AttemptFields]) -> Decision:
        """See `StopgateClient.decide`."""
        return await self._client.decide(self.id, timeout=timeout, **attempt)

    async def probe(self, *, timeout: float = _ANSWER_SECONDS, **attempt: Unpack[AttemptFields]) -> Decision:
        """See `StopgateClient.probe`."""
        return await self._client.probe(self.id, timeout=timeout, **attempt)

    async def verify(self, *, timeout: float = _ANSWER_SECONDS, **attempt: Unpack[AttemptFields]) -> Verification:
        """See `StopgateClient.verify`."""
        return await self._client.verify(self.id, timeout=timeout, **attempt)

    async def assert_complete(self, *, timeout: float = _ANSWER_SECONDS, **attempt: Unpack[AttemptFields]) -> Decision:
        """See `StopgateClient.assert_complete`."""
        return await self._client.assert_complete(self.id, timeout=timeout, **attempt)

    async def run_until_stopped(self, turn: Turn, prompt: str, *, turns_max: int = TURNS_MAX) -> Decision:
        """See `StopgateClient.run_until_stopped`."""
        return await run_until_stopped(self, self.decide, turn, prompt, turns_max)

    async def claim_next(
        self, *, queue: str | None = None, request: str | None = None, timeout: float = _CLAIM_SECONDS
    ) -> TaskView | None:
        """See `StopgateClient.claim_next`."""
        return await self._client.claim_next(self.id, queue=queue, request=request, timeout=timeout)

    async def fail_task(self, task: str, reason: str | None = None) -> TaskView:
        """See `StopgateClient.fail_task`."""
        return await self._client.fail_task(self.id, task, reason)

    async def release_task(self, task: str) -> TaskView:
        """See `StopgateClient.release_task`."""
        return await self._client.release_task(self.id, task)

    async def get(self) -> WorkerView:
        """See `StopgateClient.get_worker`."""
        return await self._client.get_worker(self.id)

    async def _store(self, kind: str, data: Mapping[str, Any], message_id: str | None) -> Stored:
        return await self._client._store("worker", self.id, kind, data, message_id)
