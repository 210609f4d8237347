/** The agents that have an adapter, by the name that `/hooks/<agent>` and `stopgate hook <agent>` use. */
import type { ReadHook } from './shared/adapter.ts';

export { resumeCommand } from './shared/resume.ts';
export { toId } from './shared/safe-id.ts';
export { isForComplete, isNews, isWanted, type Look } from './shared/unsolicited-checks.ts';

import { readClaudeHook } from './claude/claude.ts';
import { readCodexHook } from './codex/codex.ts';
import { readCopilotHook } from './copilot/copilot.ts';
import { readCursorHook } from './cursor/cursor.ts';
import { readGeminiHook } from './gemini/gemini.ts';
import { readOpencodeHook } from './opencode/opencode.ts';
import { readShellHook } from './shell/shell.ts';

export {
  type HookCall,
  type KnownWorker,
  knownFrom,
  type ReadHook,
  type Translation,
  unknownWorker,
} from './shared/adapter.ts';

export const agents: ReadonlyMap<string, ReadHook> = new Map([
  ['claude', readClaudeHook],
  ['codex', readCodexHook],
  ['gemini', readGeminiHook],
  ['copilot', readCopilotHook],
  ['cursor', readCursorHook],
  ['opencode', readOpencodeHook],
  ['shell', readShellHook],
]);
