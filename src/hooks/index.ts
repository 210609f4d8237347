/** The agents that have an adapter, by the name that `/hooks/<agent>` and `stopgate hook <agent>` use. */
import type { ReadHook } from './adapter.ts';

export { isForComplete, isNews, isWanted, type Look } from './looks.ts';
export { resumeCommand } from './resume.ts';
export { toId } from './safe-id.ts';

import { readClaudeHook } from './claude.ts';
import { readCodexHook } from './codex.ts';
import { readCopilotHook } from './copilot.ts';
import { readCursorHook } from './cursor.ts';
import { readGeminiHook } from './gemini.ts';
import { readOpencodeHook } from './opencode.ts';
import { readShellHook } from './shell.ts';

export {
  type HookCall,
  type KnownWorker,
  knownFrom,
  type ReadHook,
  type Translation,
  unknownWorker,
} from './adapter.ts';

export const agents: ReadonlyMap<string, ReadHook> = new Map([
  ['claude', readClaudeHook],
  ['codex', readCodexHook],
  ['gemini', readGeminiHook],
  ['copilot', readCopilotHook],
  ['cursor', readCursorHook],
  ['opencode', readOpencodeHook],
  ['shell', readShellHook],
]);
