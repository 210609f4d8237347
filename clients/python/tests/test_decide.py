"""decide, probe, verify, evaluate, publish, and the views of workers and tasks."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from stopgate import Decision, IncompleteError, InputError, NotFoundError, RefusedError, TurnsExhaustedError

if TYPE_CHECKING:
    from conftest import Connect


async def test_a_plan_with_open_steps_blocks_and_a_finished_one_is_complete(connect: Connect) -> None:
    async with await connect() as client:
        w = client.worker("planner")
        await w.publish("worker.registered", {"policy": "planned"})
        await w.publish("plan.updated", {"steps": [{"title": "Write tests", "status": "pending"}]})
        blocked = await w.decide(output="I am done")
        assert (blocked.decision, blocked.action, blocked.cause) == ("block", "continue", "incomplete")
        assert blocked.blocked
        assert not blocked.complete
        assert blocked.reason == "1 of 1 plan steps remain: Write tests"
        assert blocked.next_prompt is not None
        assert "Write tests" in blocked.next_prompt
        assert [it.check for it in blocked.feedback] == ["plan"]
        assert (blocked.retry.count, blocked.retry.max) == (1, 3)
        assert (blocked.state, blocked.policy.name, blocked.dry_run) == ("blocked", "planned", False)
        assert [it.verdict for it in blocked.verdicts][-1] == "block"
        assert blocked.raw["worker"] == "planner"

        probed = await w.probe()
        assert (probed.decision, probed.dry_run, probed.attempt) == ("block", True, None)
        with pytest.raises(IncompleteError, match="Write tests") as caught:
            await w.assert_complete()
        assert caught.value.decision.blocked
        assert [it.outcome for it in caught.value.feedback] == ["fail"]

        await w.publish("plan.updated", {"steps": [{"title": "Write tests", "status": "done"}]})
        assert (await w.verify()).complete
        allowed = await w.decide()
        assert (allowed.decision, allowed.cause, allowed.complete) == ("allow", "complete", True)
        last = (await w.get()).last_decision
        assert last is not None
        assert (last.attempt, last.cause) == (allowed.attempt, "complete")


async def test_the_same_attempt_gives_the_same_decision_and_counts_once(connect: Connect) -> None:
    async with await connect() as client:
        await client.publish("worker", "again", "worker.registered", {"policy": "planned"})
        await client.publish("worker", "again", "plan.updated", {"steps": [{"title": "a", "status": "pending"}]})
        first = await client.decide("again", attempt="a1")
        again = await client.decide("again", attempt="a1")
        assert replace(again, took_ms=first.took_ms) == first
        assert (await client.decide("again", attempt="a2")).retry.count == 2


async def test_a_message_id_is_stored_once(connect: Connect) -> None:
    async with await connect() as client:
        first = await client.publish("worker", "once", "tool.used", {"tool": "Bash"}, message_id="once-1")
        again = await client.publish("worker", "once", "tool.used", {"tool": "Bash"}, message_id="once-1")
        assert (first.duplicate, again.duplicate) == (False, True)
        assert again.seq == first.seq
        assert (await client.get_worker("once")).raw["toolCount"] == 1


async def test_an_invalid_entry_is_refused_before_it_is_sent(connect: Connect) -> None:
    async with await connect() as client:
        with pytest.raises(InputError, match=r"tool is missing"):
            await client.publish("worker", "w", "tool.used", {})  # type: ignore[call-overload]
        with pytest.raises(InputError, match=r"not a stop attempt: toolCount must be an int, not 'three'"):
            await client.decide("w", tool_count="three")  # type: ignore[arg-type]
        with pytest.raises(InputError, match=r"not an entry about a worker; there are: .*tool.used"):
            await client.publish("worker", "w", "tool.use", {})  # type: ignore[call-overload]
        with pytest.raises(InputError, match="'a b' is not the id of a worker"):
            await client.publish("worker", "a b", "heartbeat.sent")
        with pytest.raises(InputError, match="the limit is 65536") as caught:
            await client.publish("worker", "w", "prompt.submitted", {"text": "x" * 70_000})
        assert caught.value.code == "entry.large"
        with pytest.raises(TypeError, match="stopreason"):
            await client.decide("w", stopreason="end_turn")  # type: ignore[call-arg]


async def test_an_agent_cannot_publish_entries_of_an_operator(connect: Connect) -> None:
    async with await connect() as client:
        with pytest.raises(InputError, match="does not let us publish") as caught:
            await client.publish("own.worker", "w", "worker.retired", {"by": "me"})
        assert caught.value.code == "input.unauthorized"


async def test_an_operator_retires_a_worker(connect: Connect) -> None:
    async with await connect(role="operator") as operator:
        await operator.publish("worker", "old", "heartbeat.sent")
        await operator.publish("own.worker", "old", "worker.retired", {"by": "me"})
        assert (await operator.decide("old")).cause == "retired"


async def test_an_operator_answers_the_request_of_an_agent(connect: Connect) -> None:
    async with await connect(role="operator") as operator:
        await operator.publish("worker", "asking", "worker.registered", {"policy": "asked"})
        with pytest.raises(RefusedError, match="open requests: none"):
            await operator.answer("asking", by="me", verdict="allow")
        await operator.publish("worker", "asking", "input.requested", {"request": "r1", "tool": "Bash"})
        answered = await operator.answer("asking", by="me", verdict="deny", message="not now")
        assert answered.raw["lastAnswer"]["verdict"] == "deny"


async def test_a_worker_releases_its_task(connect: Connect) -> None:
    async with await connect() as client:
        w = client.worker("releasing")
        await w.publish("task.claimed", {"task": "T-go"})
        assert (await w.release_task("T-go")).state == "idle"
        with pytest.raises(RefusedError, match="T-go"):
            await client.release_task("releasing", "T-go")
        await w.publish("task.claimed", {"task": "T-go"})
        failed = await w.fail_task("T-go", "no compiler")
        assert (failed.state, failed.worker) == ("escalated", None)


async def test_only_the_end_of_a_long_output_is_sent(connect: Connect) -> None:
    async with await connect() as client:
        decision = await client.decide("long", output="é" * 100_000)
        assert decision.decision == "allow"


async def test_errors_have_the_code_and_message_of_the_service(connect: Connect) -> None:
    async with await connect() as client:
        with pytest.raises(NotFoundError, match="nobody") as unknown:
            await client.get_worker("nobody")
        assert unknown.value.code == "actor.unknown"
        with pytest.raises(InputError) as bad:
            await client.decide("w", tool_count=-1)
        assert bad.value.issues[0].path == "toolCount"
        await client.publish("task", "T-none", "task.created", {"title": "x"})
        with pytest.raises(RefusedError, match="iteration") as refused:
            await client.evaluate("T-none", 1)
        assert refused.value.code == "entry.refused"


async def test_lists_have_pages(connect: Connect) -> None:
    async with await connect() as client:
        for name in ("p1", "p2", "p3"):
            await client.publish("worker", name, "worker.registered", {"agent": "paged"})
        first = await client.list_workers(agent="paged", limit=2)
        assert [it.worker for it in first.items] == ["p1", "p2"]
        assert first.next is not None
        second = await client.list_workers(agent="paged", limit=2, after=first.next)
        assert ([it.worker for it in second.items], second.next) == (["p3"], None)
        await client.publish("task", "T-p", "task.created", {"queue": "paged"})
        assert (await client.get_queue("paged")).pending == 1
        assert [it.queue for it in (await client.list_queues()).items if it.pending == 1] == ["paged"]
        assert [it.task for it in (await client.list_tasks(queue="paged")).items] == ["T-p"]
        assert (await client.list_escalations(kind="permission", agent="paged")).items == ()


async def test_decisions_can_be_watched(connect: Connect) -> None:
    async with await connect() as client:
        heard: asyncio.Queue[Decision] = asyncio.Queue()
        subscription = await client.on_decision("heard", heard.put_nowait)
        made = await client.decide("heard")
        assert (await heard.get()).attempt == made.attempt
        await subscription.unsubscribe()


async def test_a_loop_continues_until_it_may_stop(connect: Connect) -> None:
    async with await connect() as client:
        w = client.worker("looped")
        await w.publish("worker.registered", {"policy": "planned"})
        await w.publish("plan.updated", {"steps": [{"title": "Write tests", "status": "pending"}]})
        prompts: list[str] = []

        async def turn(prompt: str) -> str:
            prompts.append(prompt)
            if len(prompts) > 1:
                await w.publish("plan.updated", {"steps": [{"title": "Write tests", "status": "done"}]})
            return "I am done"

        decision = await client.run_until_stopped("looped", turn, "Fix the parser")
        assert decision.complete
        assert prompts[0] == "Fix the parser"
        assert "Write tests" in prompts[1]
        assert len(prompts) == 2


async def test_the_retry_cap_ends_a_loop_without_calling_it_complete(connect: Connect) -> None:
    async with await connect() as client:
        w = client.worker("capped")
        await w.publish("worker.registered", {"policy": "planned"})
        await w.publish("plan.updated", {"steps": [{"title": "a", "status": "pending"}]})
        turns: list[str] = []
        decision = await w.run_until_stopped(turns.append, "Go")
        assert (decision.cause, decision.complete, len(turns)) == ("capped", False, 4)


async def test_a_loop_has_a_limit_of_turns(connect: Connect) -> None:
    async with await connect() as client:
        await client.publish("worker", "endless", "worker.registered", {"policy": "held"})
        with pytest.raises(TurnsExhaustedError, match="2 turns") as caught:
            await client.run_until_stopped("endless", lambda _: "done", "Go", turns_max=2)
        assert caught.value.decision.cause == "idle"


async def test_a_task_is_complete_only_after_a_judgement(connect: Connect) -> None:
    async with await connect() as client:
        w = client.worker("tasked")
        for task in ("T-judged", "T-said"):
            await w.publish("task.claimed", {"task": task})
        await w.publish("task.completed", {"task": "T-said"})
        said = await client.verify_task("T-said")
        assert (said.complete, said.said, said.decision) == (False, True, None)
        decision = await w.decide()
        assert (decision.task, decision.tasks) == ("T-judged", ("T-judged",))
        judged = await client.verify_task("T-judged")
        assert (judged.complete, judged.said) == (True, False)
        assert judged.decision is not None
        assert judged.decision.attempt == decision.attempt
        with pytest.raises(NotFoundError):
            await client.verify_task("T-unknown")


async def test_the_next_task_has_the_highest_priority_and_then_is_the_oldest(connect: Connect) -> None:
    async with await connect() as client:
        for task, priority in (("N-1", 0), ("N-2", 3), ("N-3", 0)):
            await client.publish("task", task, "task.created", {"queue": "next", "title": task, "priority": priority})
        first = await client.claim_next("nexter", queue="next", request="r1")
        again = await client.claim_next("nexter", queue="next", request="r1")
        assert first is not None
        assert again is not None
        assert (first.task, first.worker, first.title, first.priority) == ("N-2", "nexter", "N-2", 3)
        assert again.task == "N-2"
        w = client.worker("other")
        claimed = [await w.claim_next(queue="next") for _ in range(3)]
        assert [it and it.task for it in claimed] == ["N-1", "N-3", None]
