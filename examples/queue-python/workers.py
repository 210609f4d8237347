"""Three workers share the tasks of a queue, and ask stopgate whether each task is complete."""

import asyncio

from stopgate import StopgateClient

QUEUE = "build"


async def work(client: StopgateClient, name: str) -> int:
    """Claims tasks until none waits. Returns how many it completed."""
    worker = client.worker(name)
    await worker.publish("worker.registered", {"queue": QUEUE})
    completed = 0
    while (task := await worker.claim_next()) is not None:
        first = await worker.decide(output="done?")
        print(name, task.task, first.decision, first.reason)
        await asyncio.sleep(0.05)  # the work itself
        await worker.publish("step.updated", {"step": f"{task.task}-compile", "status": "done"})
        decision = await worker.decide(output="done")
        print(name, task.task, decision.decision, decision.cause)
        completed += not decision.blocked
    return completed


async def main() -> None:
    async with await StopgateClient.connect() as client:
        for number in range(1, 7):
            task = f"T-{number}"
            plan = [{"step": f"{task}-compile", "title": "Compile", "status": "pending"}]
            title = f"Build part {number}"
            await client.publish("task", task, "task.created", {"title": title, "queue": QUEUE, "plan": plan})
        counts = await asyncio.gather(*(work(client, f"builder-{number}") for number in (1, 2, 3)))
        print("completed", sum(counts))


asyncio.run(main())
