"""A limited number of slots, given to waiting workers in turn, as in the TypeScript client."""

from __future__ import annotations

import asyncio

from .errors import CheckError

WAITING_MAX = 10_000
"""The number of requests that the service keeps open for a fleet."""
PER_WORKER_MAX = 128
"""A worker waits for one check at a time. Its other requests belong to attempts that a later one has replaced."""
_CROWD_MIN = 64
"""With more workers than this, every second slot goes to the newest worker that has had none. Otherwise, a new worker
would wait for all others, and ids of workers cost nothing to invent."""


class FairSlots:
    """Shares slots fairly between workers: a thousand requests of one worker do not delay another's first.

    Workers get slots in turn, and a worker's requests in order. None counts as a worker.
    """

    def __init__(
        self, name: str, count: int, waiting_max: int = WAITING_MAX, per_worker_max: int = PER_WORKER_MAX
    ) -> None:
        self._name = name
        self._free = count
        self._waiting_max = waiting_max
        self._per_worker_max = per_worker_max
        self._waiting = 0
        self._queues: dict[str | None, dict[asyncio.Future[None], None]] = {}  # in turn order
        self._newest: dict[str | None, None] = {}  # workers without a slot so far, in arrival order
        self._newest_is_next = False

    async def acquire(self, worker: str | None) -> None:
        """Waits for a slot, to be returned by `release`. Raises `CheckError` if too many requests are waiting."""
        if self._free > 0:
            self._free -= 1
            return
        if self._waiting >= self._waiting_max:
            raise CheckError("check.failed", f"{self._waiting_max} requests wait for check {self._name}, the maximum")
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue = self._queues.get(worker)
        if queue is None:
            queue = self._queues[worker] = {}
            self._newest.pop(worker, None)
            self._newest[worker] = None
        queue[waiter] = None
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
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self.release()
            else:
                self._remove(worker, waiter)
            raise

    def release(self) -> None:
        """Gives the slot to the worker whose turn it is."""
        if not self._queues:
            self._free += 1
            return
        worker = self._next()
        queue = self._queues[worker]
        waiter = next(iter(queue))
        self._remove(worker, waiter)
        if worker in self._queues:  # its next request waits for a turn of all others
            self._queues[worker] = self._queues.pop(worker)
        waiter.set_result(None)

    def _next(self) -> str | None:
        is_crowd = len(self._queues) > _CROWD_MIN
        self._newest_is_next = is_crowd and not self._newest_is_next
        worker = next(iter(self._queues))
        if self._newest_is_next:
            worker = next(reversed(self._newest), worker)
        if is_crowd:
            self._newest.pop(worker, None)
        return worker

    def _remove(self, worker: str | None, waiter: asyncio.Future[None]) -> None:
        queue = self._queues.get(worker)
        if queue is None or waiter not in queue:
            return
        del queue[waiter]
        self._waiting -= 1
        if not queue:
            del self._queues[worker]
            self._newest.pop(worker, None)
