"""The order in which waiting workers get the free slots of a check."""

from __future__ import annotations

import asyncio

import pytest

from stopgate.errors import CheckError
from stopgate.slots import FairSlots


async def wait_in(slots: FairSlots, served: list[str], *workers: str) -> list[asyncio.Task[None]]:
    """Takes a slot for each worker, records the worker and releases the slot."""

    async def use(worker: str) -> None:
        await slots.acquire(worker)
        served.append(worker)
        slots.release()

    tasks = [asyncio.ensure_future(use(worker)) for worker in workers]
    await asyncio.sleep(0)
    return tasks


async def test_workers_are_served_in_turn() -> None:
    slots = FairSlots("size", 1)
    await slots.acquire("first")
    served: list[str] = []
    tasks = await wait_in(slots, served, *["noisy"] * 100, "quiet")
    slots.release()
    await asyncio.gather(*tasks)
    assert served[:3] == ["noisy", "quiet", "noisy"]
    assert len(served) == 101


async def test_in_a_crowd_every_second_slot_goes_to_the_newest_worker() -> None:
    slots = FairSlots("size", 1)
    await slots.acquire("first")
    served: list[str] = []
    tasks = await wait_in(slots, served, *[f"invented-{index}" for index in range(1_000)], "neighbour")
    slots.release()
    await asyncio.gather(*tasks)
    assert served.index("neighbour") < 2
    assert served.index("invented-0") < 2  # the first worker of the crowd does not starve either


async def test_the_number_of_waiting_requests_is_bounded() -> None:
    slots = FairSlots("size", 1, waiting_max=5, per_worker_max=3)
    await slots.acquire("first")
    served: list[str] = []
    tasks = await wait_in(slots, served, *["noisy"] * 4, "w1", "w2")
    with pytest.raises(CheckError, match="5 requests wait for check size, the maximum"):
        await slots.acquire("w3")
    with pytest.raises(CheckError, match="more than 3 requests of one worker wait for check size"):
        await tasks[0]
    slots.release()
    await asyncio.gather(*tasks[1:])
    assert sorted(served) == ["noisy", "noisy", "noisy", "w1", "w2"]


async def test_a_cancelled_request_takes_no_slot() -> None:
    slots = FairSlots("size", 1)
    await slots.acquire("first")
    served: list[str] = []
    cancelled, *tasks = await wait_in(slots, served, "gone", "w1")
    cancelled.cancel()
    await asyncio.sleep(0)
    slots.release()
    await asyncio.gather(*tasks)
    await slots.acquire("next")
    assert served == ["w1"]
