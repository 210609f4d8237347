"""A limited number of places, given to those who wait in turns, as the TypeScript client does."""

from __future__ import annotations

import asyncio

from .errors import CheckError

WAITING_MAX = 10_000
"""As many as the requests that a fleet of the service holds open."""
PER_WORKER_MAX = 128
"""A worker waits for one check at a time: the others are of attempts that a later one has replaced."""
_CROWD_MIN = 64
"""More workers than this are a crowd. The one that came last would wait for all of them, and workers cost nothing to
invent: so every second place goes to the newest that had none while it waited."""


class FairPlaces:
    """Is fair between workers, so that a thousand requests of one delay nobody's first one.

    Places go to the workers in turn, and to a worker's requests in their order. None is a worker of its own.
    """

    def __init__(
        self, name: str, count: int, waiting_max: int = WAITING_MAX, per_worker_max: int = PER_WORKER_MAX
    ) -> None:
        self._name = name
        self._free = count
        self._waiting_max = waiting_max
        self._per_worker_max = per_worker_max
        self._waiting = 0
        self._queues: dict[str | None, dict[asyncio.Future[None], None]] = {}  # in the order of their turns
        self._newest: dict[str | None, None] = {}  # those that had no place yet, in the order of their coming
        self._newest_is_next = False

    async def acquire(self, worker: str | None) -> None:
        """Waits for a place, until `release`. Raises `CheckError`: too many wait already."""
        if self._free > 0:
            self._free -= 1
            return
        if self._waiting >= self._waiting_max:
            raise CheckError(
                "check.failed", f"{self._waiting_max} requests wait for check {self._name}, the most that it accepts"
            )
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue = self._queues.get(worker)
        if queue is None:
            queue = self._queues[worker] = {}
            self._newest.pop(worker, None)
            self._newest[worker] = None
        queue[place] = None
        self._waiting += 1
        if len(queue) > self._per_worker_max:
            oldest = next(iter(queue))
            self._remove(worker, oldest)
            oldest.set_exception(
                CheckError(
                    "check.failed",
                    f"more than {self._per_worker_max} requests of one worker wait for check {self._name}",
                )
            )
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.exception() is None:
                self.release()
            else:
                self._remove(worker, place)
            raise

    def release(self) -> None:
        """Gives the place to whose turn it is."""
        if not self._queues:
            self._free += 1
            return
        worker = self._next()
        queue = self._queues[worker]
        place = next(iter(queue))
        self._remove(worker, place)
        if worker in self._queues:  # its next request waits for one of all the others
            self._queues[worker] = self._queues.pop(worker)
        place.set_result(None)

    def _next(self) -> str | None:
        is_crowd = len(self._queues) > _CROWD_MIN
        self._newest_is_next = is_crowd and not self._newest_is_next
        worker = next(iter(self._queues))
        if self._newest_is_next:
            worker = next(reversed(self._newest), worker)
        if is_crowd:
            self._newest.pop(worker, None)
        return worker

    def _remove(self, worker: str | None, place: asyncio.Future[None]) -> None:
        queue = self._queues.get(worker)
        if queue is None or place not in queue:
            return
        del queue[place]
        self._waiting -= 1
        if not queue:
            del self._queues[worker]
            self._newest.pop(worker, None)
