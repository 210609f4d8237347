/** All supported agents, by the name used in `/hooks/<agent>` and `stopgate hook <agent>`. */
import type { WorkerView } from '../../machines/index.ts';
import type { Agent } from './agent.ts';
import { claude } from './claude/callers.ts';
import { codex } from './codex/adapter.ts';
import { copilot } from './copilot/adapter.ts';
import { cursor } from './cursor/adapter.ts';
import { gemini } from './gemini/adapter.ts';
import { opencode } from './opencode/adapter.ts';
import { qwen } from './qwen/adapter.ts';
import { plainText, shellWord } from './shared/text.ts';
import { shell } from './shell/adapter.ts';
import { createTableAgent } from './table/adapter.ts';
import { tableRows } from './table/rows.ts';

const tableAgents = tableRows.map(createTableAgent);
const list: readonly Agent[] = [claude, codex, gemini, copilot, qwen, cursor, opencode, ...tableAgents, shell];

export const agents: ReadonlyMap<string, Agent> = new Map(list.map((agent) => [agent.name, agent]));

export type { Agent, HookCall, ReadHook, Translation, WorkerEntry } from './agent.ts';
export { createHookCallHandler, type HookService, type OnHeld } from './shared/hook-call-handler.ts';
export type { HeldRequest } from './shared/permission-requests.ts';
export { type PriorWorker, toPriorWorker, unknownWorker } from './shared/prior-worker.ts';
export { toId } from './shared/text.ts';
export { isCompletionCheck, isReportable, shouldRunCheck, type UnsolicitedCheck } from './shared/unsolicited-checks.ts';

// The `resume` commands were tested without a terminal, with the version named in each agent's settings.ts. Cursor's is
// taken from its documentation.

type Session = Pick<WorkerView, 'worker' | 'agent' | 'parent' | 'cwd'>;

/**
 * A shell command with which a person resumes a session that has ended or waits.
 * @returns null if the agent has no such command, or for a sub-agent, which only its parent can resume
 */
export function resumeCommand({ worker, agent, parent, cwd }: Session, prompt: string): string | null {
  const words = resumeWords({ worker, agent, parent }, prompt);
  if (words === null) return null;
  const command = words.map(shellWord).join(' ');
  // Agents look sessions up by the folder in which they were started.
  return cwd === null ? command : `cd ${shellWord(cwd)} && ${command}`;
}

/**
 * The program and its arguments, for a process without a terminal. Qwen Code's `--prompt-interactive` needs a terminal
 * and is replaced. Returns null like `resumeCommand`.
 */
export const resumeArguments = (session: Omit<Session, 'cwd'>, prompt: string): readonly string[] | null =>
  resumeWords(session, prompt)?.map((word) => (word === '--prompt-interactive' ? '--prompt' : word)) ?? null;

function resumeWords({ worker, agent, parent }: Omit<Session, 'cwd'>, prompt: string): readonly string[] | null {
  const resume = agents.get(agent ?? '')?.resume ?? null;
  return resume === null || parent !== null ? null : resume(worker, plainText(prompt));
}
