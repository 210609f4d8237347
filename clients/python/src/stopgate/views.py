"""The current state of workers, tasks and queues (protocol.md §10)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypedDict, TypeVar, cast

from .decision import Decision, State, read_decision
from .reading import Fields

if TYPE_CHECKING:
    from collections.abc import Mapping

View = TypeVar("View")
Presence = Literal["active", "stale", "limited"]
PersonKind = Literal["escalation", "permission", "question", "input", "unattended"]


class ListFilter(TypedDict, total=False):
    """Filters of a list. `limit` defaults to 100; `after` is the `next` of the previous page."""

    state: State
    presence: Presence
    queue: str
    agent: str
    sort: Literal["usd", "tokens", "turns"]
    limit: int
    after: str


class EscalationFilter(ListFilter, total=False):
    """Filters of the things that wait for a person. The other fields apply to the worker or task."""

    kind: PersonKind


@dataclass(frozen=True)
class Refused:
    """An entry that was not valid when it arrived."""

    seq: int
    at: str
    type: str
    reason: str


@dataclass(frozen=True)
class HookView:
    """A hook of a task, as it was registered."""

    hook: str
    type: str
    enabled: bool
    metadata: Mapping[str, Any]


@dataclass(frozen=True)
class WorkerView:
    """One worker. `raw` is the whole reply of the service."""

    worker: str
    state: State
    presence: Presence
    tasks: tuple[str, ...]
    policy: str
    last_decision: Decision | None
    refused: tuple[Refused, ...]
    raw: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True)
class TaskView:
    """One task. `raw` is the whole reply of the service."""

    task: str
    state: State
    worker: str | None
    queue: str | None
    title: str | None
    priority: int
    hooks: tuple[HookView, ...]
    refused: tuple[Refused, ...]
    raw: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True)
class QueueView:
    """`pending` counts the unclaimed tasks known here and those `reported` from elsewhere.

    `workers` counts the workers that could take its tasks. `unattended_since` is the time since which there have been
    none, if people are notified of that.
    """

    queue: str
    pending: int
    reported: int
    workers: int = 0
    unattended_since: str | None = None


@dataclass(frozen=True)
class Page(Generic[View]):
    """One page; `next` is None if there are no more."""

    items: tuple[View, ...]
    next: str | None


@dataclass(frozen=True)
class PersonWait:
    """One thing that waits for a person: an escalated worker or task, a request of an agent, or an unattended queue.

    `raw` has all fields.
    """

    entity: Literal["worker", "task", "queue"]
    id: str
    kind: PersonKind
    since: str
    reason: str
    note: str | None
    raw: Mapping[str, Any] = field(repr=False, compare=False)


def read_worker(reply: object) -> WorkerView:
    """Raises `UnreachableError` if it is not the view of a worker."""
    fields = Fields("view of a worker", reply)
    last = fields.raw.get("lastDecision")
    return WorkerView(
        worker=fields.take("worker", str),
        state=cast("State", fields.take("state", str)),
        presence=cast("Presence", fields.take("presence", str)),
        tasks=tuple(str(task) for task in fields.take("tasks", list)),
        policy=fields.take("policy", str),
        last_decision=None if last is None else read_decision(last),
        refused=_read_refused(fields),
        raw=fields.raw,
    )


def read_task(reply: object) -> TaskView:
    """Raises `UnreachableError` if it is not the view of a task."""
    fields = Fields("view of a task", reply)
    return TaskView(
        task=fields.take("task", str),
        state=cast("State", fields.take("state", str)),
        worker=fields.maybe("worker", str),
        queue=fields.maybe("queue", str),
        title=fields.maybe("title", str),
        priority=fields.maybe("priority", int) or 0,
        hooks=tuple(
            HookView(
                hook=hook.take("hook", str),
                type=hook.take("type", str),
                enabled=hook.take("enabled", bool),
                metadata=hook.maybe("metadata", dict) or {},
            )
            for hook in fields.each("hooks")
        ),
        refused=_read_refused(fields),
        raw=fields.raw,
    )


def read_queue(reply: object) -> QueueView:
    """Raises `UnreachableError` if it is not the view of a queue."""
    fields = Fields("view of a queue", reply)
    return QueueView(
        queue=fields.take("queue", str),
        pending=fields.take("pending", int),
        reported=fields.take("reported", int),
        workers=fields.maybe("workers", int) or 0,
        unattended_since=(fields.maybe("unattended", dict) or {}).get("since"),
    )


def read_person_wait(reply: object) -> PersonWait:
    """Raises `UnreachableError` if it is not something that waits for a person."""
    fields = Fields("escalation", reply)
    return PersonWait(
        entity=cast('Literal["worker", "task", "queue"]', fields.take("entity", str)),
        id=fields.take("id", str),
        kind=cast("PersonKind", fields.take("kind", str)),
        since=fields.take("since", str),
        reason=fields.take("reason", str),
        note=fields.maybe("note", str),
        raw=fields.raw,
    )


def _read_refused(fields: Fields) -> tuple[Refused, ...]:
    return tuple(
        Refused(
            seq=each.take("seq", int),
            at=each.take("at", str),
            type=each.take("type", str),
            reason=each.take("reason", str),
        )
        for each in fields.each("refused")
    )
