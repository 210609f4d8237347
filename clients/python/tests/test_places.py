"""Who gets a free place of a check, when many wait."""

from __future__ import annotations

import asyncio

import pytest

from stopgate.errors import CheckError
from stopgate.places import FairPlaces


async def wait_in(places: FairPlaces, served: list[str], *workers: str) -> list[asyncio.Task[None]]:
    """Each takes a place, notes its worker and gives the place back."""

    async def use(worker: str) -> None:
        await places.acquire(worker)
        served.append(worker)
        places.release()

    tasks = [asyncio.ensure_future(use(worker)) for worker in workers]
    await asyncio.sleep(0)
    return tasks


async def test_workers_are_served_in_turn() -> None:
    places = FairPlaces("size", 1)
    await places.acquire("first")
    served: list[str] = []
    tasks = await wait_in(places, served, *["noisy"] * 100, "quiet")
    places.release()
    await asyncio.gather(*tasks)
    assert served[:3] == ["noisy", "quiet", "noisy"]
    assert len(served) == 101


async def test_in_a_crowd_every_second_place_is_the_newest_worker_s() -> None:
    places = FairPlaces("size", 1)
    await places.acquire("first")
    served: list[str] = []
    tasks = await wait_in(places, served, *[f"invented-{index}" for index in range(1_000)], "neighbour")
    places.release()
    await asyncio.gather(*tasks)
    assert served.index("neighbour") < 2
    assert served.index("invented-0") < 2  # nor does the crowd's first one starve


async def test_what_waits_is_bounded() -> None:
    places = FairPlaces("size", 1, waiting_max=5, per_worker_max=3)
    await places.acquire("first")
    served: list[str] = []
    tasks = await wait_in(places, served, *["noisy"] * 4, "w1", "w2")
    with pytest.raises(CheckError, match="5 requests wait for check size, the most that it accepts"):
        await places.acquire("w3")
    with pytest.raises(CheckError, match="more than 3 requests of one worker wait for check size"):
        await tasks[0]
    places.release()
    await asyncio.gather(*tasks[1:])
    assert sorted(served) == ["noisy", "noisy", "noisy", "w1", "w2"]


async def test_who_is_cancelled_takes_no_place() -> None:
    places = FairPlaces("size", 1)
    await places.acquire("first")
    served: list[str] = []
    cancelled, *tasks = await wait_in(places, served, "gone", "w1")
    cancelled.cancel()
    await asyncio.sleep(0)
    places.release()
    await asyncio.gather(*tasks)
    await places.acquire("next")
    assert served == ["w1"]
