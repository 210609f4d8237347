/** The agents, by the name that `/hooks/<agent>` and `stopgate hook <agent>` use. */
import type { Agent } from './agent.ts';
import { claude } from './claude/adapter.ts';
import { codex } from './codex/adapter.ts';
import { copilot } from './copilot/adapter.ts';
import { cursor } from './cursor/adapter.ts';
import { gemini } from './gemini/adapter.ts';
import { opencode } from './opencode/adapter.ts';
import { qwen } from './qwen/adapter.ts';
import { shell } from './shell/adapter.ts';

const list: readonly Agent[] = [claude, codex, gemini, copilot, qwen, cursor, opencode, shell];

export const agents: ReadonlyMap<string, Agent> = new Map(list.map((agent) => [agent.name, agent]));

export type { Agent, HookCall, ReadHook, Translation, WorkerEntry } from './agent.ts';
export { createHookCallHandler, type OnHeld } from './shared/hook-call-handler.ts';
export type { HeldRequest } from './shared/permission-requests.ts';
export { type PriorWorker, toPriorWorker, unknownWorker } from './shared/prior-worker.ts';
export { toId } from './shared/text.ts';
export { isForComplete, isNews, isWanted, type UnsolicitedCheck } from './shared/unsolicited-checks.ts';
