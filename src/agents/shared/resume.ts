/**
 * How a session that has ended, or waits, is told to go on: the agent's own command, for a person to run. Seen with the
 * versions that the adapters name, without a terminal; Cursor's is only documented.
 */
import type { WorkerView } from '../../../machines/index.ts';
import { shellWord } from '../../shell-word.ts';
import { plainText } from './text.ts';

type Form = (session: string, prompt: string) => readonly string[];

const forms: ReadonlyMap<string | null, Form> = new Map<string | null, Form>([
  ['claude', (session, prompt) => ['claude', '--resume', session, prompt]],
  ['codex', (session, prompt) => ['codex', 'exec', 'resume', session, prompt]],
  ['gemini', (session, prompt) => ['gemini', '--resume', session, prompt]],
  ['copilot', (session, prompt) => ['copilot', `--resume=${session}`, '--prompt', prompt]],
  ['cursor', (session, prompt) => ['cursor-agent', '--resume', session, prompt]],
  ['opencode', (session, prompt) => ['opencode', 'run', '--session', session, prompt]],
]);

type Session = Pick<WorkerView, 'worker' | 'agent' | 'parent' | 'cwd'>;

/** One line for a shell. Null: the agent has no such command, or it is a sub-agent, which goes on by its parent only. */
export function resumeCommand({ worker, agent, parent, cwd }: Session, prompt: string): string | null {
  const form = forms.get(agent);
  if (form === undefined || parent !== null) return null;
  const command = form(worker, plainText(prompt)).map(shellWord).join(' ');
  // Agents keep their sessions by the folder in which they began.
  return cwd === null ? command : `cd ${shellWord(cwd)} && ${command}`;
}
