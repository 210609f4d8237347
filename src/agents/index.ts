/** The agents that have an adapter, by the name that `/hooks/<agent>` and `stopgate hook <agent>` use. */
import type { ReadHook } from './shared/hook-call.ts';

export { resumeCommand } from './shared/resume.ts';
export { toId } from './shared/safe-id.ts';
export { isForComplete, isNews, isWanted, type UnsolicitedCheck } from './shared/unsolicited-checks.ts';

import { readClaudeHook } from './claude/adapter.ts';
import { readCodexHook } from './codex/adapter.ts';
import { readCopilotHook } from './copilot/adapter.ts';
import { readCursorHook } from './cursor/adapter.ts';
import { readGeminiHook } from './gemini/adapter.ts';
import { readOpencodeHook } from './opencode/adapter.ts';
import { readShellHook } from './shell/adapter.ts';

export type { HookCall, ReadHook, Translation, WorkerEntry } from './shared/hook-call.ts';
export { type PriorWorker, toPriorWorker, unknownWorker } from './shared/prior-worker.ts';

export const agents: ReadonlyMap<string, ReadHook> = new Map([
  ['claude', readClaudeHook],
  ['codex', readCodexHook],
  ['gemini', readGeminiHook],
  ['copilot', readCopilotHook],
  ['cursor', readCursorHook],
  ['opencode', readOpencodeHook],
  ['shell', readShellHook],
]);
