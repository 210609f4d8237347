/** Tools that run: while one does, its worker does not become stale (protocol.md §3). */
import { callsMax } from '../values/limits.ts';
import type { ToolCall } from './context.ts';
import type { On } from './events.ts';
import { policyFor } from './surroundings.ts';

/** A call's time is that of the policy in force when it starts. The oldest gives way to one too many. */
export function startCall(calls: readonly ToolCall[], { data, atMs, facts }: On<'tool.started'>): readonly ToolCall[] {
  const { policy } = policyFor(facts);
  const started = { tool: data.tool, call: data.call ?? null, atMs, untilMs: atMs + policy.toolTimeMs };
  return [...calls, started].slice(-callsMax);
}

/** Ends the call of this id; without one, the oldest call of the same tool. */
export function endCall(calls: readonly ToolCall[], { tool, call }: On<'tool.used'>['data']): readonly ToolCall[] {
  const index = calls.findIndex((it) => (call === undefined ? it.tool === tool : it.call === call));
  return index < 0 ? calls : calls.toSpliced(index, 1);
}
