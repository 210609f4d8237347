"""Functions that serve as checks and hooks."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from stopgate import (
    AgentContext,
    HookForm,
    InputError,
    PendingResult,
    RefusedError,
    StopgateClient,
    StopHookResult,
    ValidationResult,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from conftest import Connect, Service


async def test_a_served_check_decides_and_gets_the_agents_data(connect: Connect) -> None:
    async with await connect() as client:
        seen: list[AgentContext] = []

        def size(context: AgentContext) -> ValidationResult:
            assert threading.current_thread() is not threading.main_thread()
            seen.append(context)
            return ValidationResult(complete=len(context.files_modified) <= 1, reason="too many files")

        await client.serve_check("size", size)
        w = client.worker("sized")
        await w.publish("worker.registered", {"policy": "sized", "cwd": "/tmp"})  # noqa: S108
        await w.publish("plan.updated", {"steps": [{"title": "a", "status": "done", "step": "1"}]})
        blocked = await w.decide(
            output="done <promise>COMPLETE</promise>",
            files=["a", "b"],
            stop_reason="max_turns",
            validation=[{"rule": "lint", "passed": False, "message": "2 errors"}],
        )
        assert (blocked.decision, blocked.reason) == ("block", "too many files")
        assert (await w.decide(files=["a"])).cause == "complete"
        context = seen[0]
        assert (context.worker, context.cwd, context.stop_reason) == ("sized", "/tmp", "max_turns")  # noqa: S108
        assert (context.files_modified, context.task_id) == (("a", "b"), None)
        assert [(it.rule_name, it.passed, it.message) for it in context.validation_results] == [
            ("lint", False, "2 errors")
        ]
        assert [it.type for it in context.completion_promises if it.detected] == ["COMPLETE"]
        assert [(it.title, it.status, it.step) for it in context.plan] == [("a", "done", "1")]
        assert seen[1].retry_count == 1


@pytest.mark.parametrize(
    "reply",
    [PendingResult("the pipeline runs", retry_after=1), {"pending": True, "reason": "r", "retryAfterMs": 1_000}],
)
async def test_a_pending_check_is_asked_again(connect: Connect, reply: PendingResult | dict[str, Any]) -> None:
    async with await connect() as client:
        replies = iter([reply, ValidationResult(complete=False, reason="the pipeline failed")])
        await client.serve_check("size", lambda _: next(replies))
        w = client.worker("patient")
        await w.publish("worker.registered", {"policy": "sized"})
        assert (await w.decide()).reason == "the pipeline failed"


async def broken(_: AgentContext) -> dict[str, Any]:
    raise ValueError("no\nmodel")


async def odd(_: AgentContext) -> dict[str, Any]:
    return {"verdict": "fine"}


async def slow(_: AgentContext) -> dict[str, Any]:
    await asyncio.Event().wait()
    return {"complete": True}


async def impatient(_: AgentContext) -> dict[str, Any]:
    raise asyncio.TimeoutError("no word from CI")


async def long(_: AgentContext) -> dict[str, Any]:
    return {"complete": True, "reason": "x" * 2_000_000}


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (broken, "no model"),
        (impatient, "no word from CI"),
        (odd, "did not return a result"),
        (slow, "no result within 0.01 s"),
        (long, "the result has 2000032 bytes, and the NATS server accepts at most 1048576: return a shorter one"),
    ],
    ids=["raises", "raises a timeout of its own", "returns no result", "takes too long", "returns too much"],
)
async def test_a_check_that_fails_never_passes(
    connect: Connect, check: Callable[[AgentContext], Awaitable[dict[str, Any]]], words: str
) -> None:
    async with await connect() as client:
        served = await client.serve_check("broken", check, timeout=0.01 if check is slow else 20)
        worker = f"broken-{check.__name__}"
        await client.publish("worker", worker, "worker.registered", {"policy": "strict"})
        decision = await client.decide(worker)
        assert decision.decision == "block"
        assert [it.outcome for it in decision.feedback] == ["error"]
        assert words in decision.feedback[0].message
        await served.close()


async def test_close_answers_open_requests(connect: Connect) -> None:
    async with await connect() as asking, await connect() as serving:
        begun, go = asyncio.Event(), asyncio.Event()

        async def late(_: AgentContext) -> ValidationResult:
            begun.set()
            await go.wait()
            return ValidationResult(complete=True)

        served = await serving.serve_check("size", late)
        await asking.publish("worker", "late", "worker.registered", {"policy": "sized"})
        deciding = asyncio.create_task(asking.decide("late"))
        await begun.wait()
        closing = asyncio.create_task(served.close())
        go.set()
        assert (await deciding).cause == "complete"
        await closing


async def test_serving_needs_credentials(service: Service) -> None:
    async with await StopgateClient.connect(service.nats, cwd="/") as stranger:
        with pytest.raises(InputError, match=r"connect with credentials that may, check\.json") as caught:
            await stranger.serve_check("size", broken)
        assert caught.value.code == "input.unauthorized"
    given = service.folder / ".stopgate/credentials/check.json"
    async with await StopgateClient.connect(service.nats, check_creds=given, cwd="/") as client:
        await client.serve_check("other", broken)


async def test_a_function_serves_as_a_hook_of_a_task(connect: Connect) -> None:
    async with await connect() as client:
        w = client.worker("hooked")
        await w.publish("task.claimed", {"task": "T-hook"})

        def tests_pass(context: AgentContext) -> StopHookResult:
            if any(it.rule_name == "tests_pass" and it.passed for it in context.validation_results):
                return StopHookResult("complete", "All tests pass")
            return StopHookResult("continue", "Tests still failing", next_prompt="Fix failing tests and run again")

        hook = await client.register_stop_hook("T-hook", tests_pass)
        blocked = await w.decide()
        assert (blocked.reason, blocked.task) == ("Tests still failing", "T-hook")
        assert "Fix failing tests" in (blocked.next_prompt or "")
        await client.unregister_stop_hook("T-hook", hook)
        assert await client.list_hooks("T-hook") == ()
        with pytest.raises(RefusedError):
            await client.unregister_hook("T-hook", hook)
        assert await client.register_stop_hook("T-hook", tests_pass, hook_id=hook) == hook  # as after a restart
        assert (await w.decide(validation=[{"rule": "tests_pass", "passed": True}])).cause == "complete"
        assert await client.list_hooks("T-hook") == ()


async def test_hooks_of_every_type_are_registered_listed_and_cleared(connect: Connect) -> None:
    async with await connect() as client:
        await client.publish("task", "T-list", "task.created")
        await client.register_hook("T-list", "tdd", hook_id="h1", metadata={"of": "us"})
        either: list[HookForm] = [{"type": "validation"}, {"type": "promise"}]
        await client.register_hook(
            "T-list", "any", hook_id="h2", of=either, on_error="skip", when={"filesMatch": "src/**"}
        )
        await client.disable_hook("T-list", "h2")
        listed = await client.list_hooks("T-list")
        assert [(it.hook, it.type, it.enabled) for it in listed] == [("h1", "tdd", True), ("h2", "any", False)]
        assert listed[0].metadata == {"of": "us"}
        with pytest.raises(RefusedError, match="h1"):
            await client.register_hook("T-list", "promise", hook_id="h1")
        assert await client.clear_hooks("T-list") == 2
        assert await client.list_hooks("T-unknown") == ()


async def test_hooks_judge_an_iteration(connect: Connect) -> None:
    async with await connect() as client:
        await client.register_hook("T-it", "tdd")
        await client.publish("task", "T-it", "iteration.started", {"iteration": 1, "maxIterations": 5})
        result = await client.evaluate("T-it", 1, validation=[{"rule": "tests_pass", "passed": False}])
        assert (result.action, result.task_id, result.iteration) == ("continue", "T-it", 1)
        assert result.next_prompt == "Fix failing tests and run again"
