"""Hooks on a task (docs/protocol.md §7): registered by entries, and confirmed by the task's view."""

from __future__ import annotations

import hashlib
import uuid
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .checks import CONCURRENCY, TIMEOUT_SECONDS, CheckFunction, ServedCheck
from .entries import EntryPublisher, HookForm, HookRegistered, When
from .errors import NotFoundError, RefusedError
from .ids import check_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .views import HookView, TaskView

HookType = Literal["default", "validation", "promise", "remote", "all", "any", "tdd", "security", "checkpoint"]


@dataclass(frozen=True)
class HookState:
    """A hook, and whether it is enabled."""

    task_id: str
    hook_id: str
    enabled: bool


class HookCalls(EntryPublisher):
    """Each call returns when the task shows the change, or raises `RefusedError` with the task's reason."""

    _stop_hooks: dict[tuple[str, str], ServedCheck]

    @abstractmethod
    async def get_task(self, task: str) -> TaskView:
        """The current state of a task."""

    @abstractmethod
    async def serve_check(
        self, name: str, check: CheckFunction, *, timeout: float = TIMEOUT_SECONDS, concurrency: int = CONCURRENCY
    ) -> ServedCheck:
        """Serves a check."""

    async def register_hook(
        self,
        task_id: str,
        hook_type: HookType,
        *,
        hook_id: str | None = None,
        of: Sequence[HookForm] | None = None,
        name: str | None = None,
        when: When | None = None,
        on_error: Literal["escalate", "skip"] | None = None,
        enabled: bool = True,
        metadata: Mapping[str, Any] | None = None,
    ) -> str:
        """Registers a hook, and returns its id.

        `of`: the members of `all` and `any`. `name`: the check that a `remote` hook calls. `when`: conditions that must
        all be true. `on_error`: what an error of the hook means (default: `escalate`).
        """
        hook = hook_id or f"HOOK-{uuid.uuid4().hex}"
        data: HookRegistered = {"hook": hook, "type": hook_type, "enabled": enabled, "metadata": metadata or {}}
        if of is not None:
            data["of"] = of
        if name is not None:
            data["name"] = name
        if when is not None:
            data["when"] = when
        if on_error is not None:
            data["onError"] = on_error
        await self.publish("task", task_id, "hook.registered", data)
        await self._confirm(
            task_id,
            "hook.registered",
            lambda hooks: any(each.hook == hook and each.type == hook_type for each in hooks),
        )
        return hook

    async def register_stop_hook(
        self,
        task_id: str,
        hook: CheckFunction,
        *,
        hook_id: str | None = None,
        when: When | None = None,
        on_error: Literal["escalate", "skip"] | None = None,
        metadata: Mapping[str, Any] | None = None,
        timeout: float = TIMEOUT_SECONDS,
        concurrency: int = CONCURRENCY,
    ) -> str:
        """Registers a function as a hook, and returns its id.

        The hook is an entry and outlives this process, but the function does not: while no process serves it, the hook
        fails with an error. Other processes can serve the same `task_id` and `hook_id`, also at the same time.
        """
        check_id("task", task_id)
        key = (task_id, check_id("hook", hook_id or f"HOOK-{uuid.uuid4().hex}"))
        name = _check_name(*key)
        # Serve it before registering it, so that a stop in between finds it.
        served = await self.serve_check(name, hook, timeout=timeout, concurrency=concurrency)
        try:
            if not any(each.hook == key[1] and each.type == "remote" for each in await self.list_hooks(task_id)):
                await self.register_hook(
                    task_id, "remote", hook_id=key[1], name=name, when=when, on_error=on_error, metadata=metadata
                )
        except BaseException:
            await served.close()
            raise
        self._stop_hooks[key] = served
        return key[1]

    async def unregister_stop_hook(self, task_id: str, hook_id: str) -> HookState:
        """Removes the hook from its task, which frees its id, and stops serving it."""
        return await self.unregister_hook(task_id, hook_id)

    async def list_hooks(self, task_id: str) -> tuple[HookView, ...]:
        """The hooks of a task; empty for an unknown task."""
        try:
            return (await self.get_task(task_id)).hooks
        except NotFoundError:
            return ()

    async def enable_hook(self, task_id: str, hook_id: str) -> HookState:
        """Enables a hook that was disabled."""
        await self.publish("task", task_id, "hook.enabled", {"hook": hook_id})
        return await self._confirm_enabled(task_id, hook_id, "hook.enabled", enabled=True)

    async def disable_hook(self, task_id: str, hook_id: str) -> HookState:
        """Disables a hook, which is skipped until it is enabled again."""
        await self.publish("task", task_id, "hook.disabled", {"hook": hook_id})
        return await self._confirm_enabled(task_id, hook_id, "hook.disabled", enabled=False)

    async def unregister_hook(self, task_id: str, hook_id: str) -> HookState:
        """Removes one hook from its task. Raises `RefusedError` if the task has no such hook."""
        stored = await self.publish("task", task_id, "hook.unregistered", {"hook": hook_id})
        task = await self.get_task(task_id)
        for refused in task.refused:
            if refused.seq == stored.seq:
                raise RefusedError("entry.refused", f"'hook.unregistered' of task '{task_id}': {refused.reason}")
        await self._stop_serving(task_id, hook_id)
        return HookState(task_id, hook_id, enabled=False)

    async def clear_hooks(self, task_id: str) -> int:
        """Removes all hooks of a task, and returns their number."""
        count = len(await self.list_hooks(task_id))
        if count > 0:
            await self.publish("task", task_id, "hooks.cleared")
            await self._confirm(task_id, "hooks.cleared", lambda hooks: len(hooks) == 0)
        await self._stop_serving(task_id)
        return count

    async def _confirm_enabled(self, task_id: str, hook_id: str, kind: str, *, enabled: bool) -> HookState:
        await self._confirm(
            task_id, kind, lambda hooks: any(each.hook == hook_id and each.enabled == enabled for each in hooks)
        )
        return HookState(task_id, hook_id, enabled)

    async def _confirm(self, task_id: str, kind: str, applied: Callable[[tuple[HookView, ...]], bool]) -> None:
        task = await self.get_task(task_id)
        if applied(task.hooks):
            return
        reasons = [refused.reason for refused in task.refused if refused.type == kind]
        reason = reasons[-1] if reasons else "the task does not show it"
        raise RefusedError("entry.refused", f"'{kind}' of task '{task_id}': {reason}")

    async def _stop_serving(self, task_id: str, hook_id: str | None = None) -> None:
        for key in list(self._stop_hooks):
            if key[0] == task_id and hook_id in (None, key[1]):
                await self._stop_hooks.pop(key).close()


def _check_name(task_id: str, hook_id: str) -> str:
    """Unique to each hook of each task, and the same in every process and every language."""
    digest = hashlib.sha256(f"{task_id} {hook_id}".encode()).hexdigest()[:16]
    return f"{hook_id[:100]}-{digest}"
