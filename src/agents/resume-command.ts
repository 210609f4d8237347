/**
 * The command with which a person resumes a session that has ended or waits. Each was run with the version that its
 * agent's settings.ts names, without a terminal; Cursor's is only documented.
 */
import type { WorkerView } from '../../machines/index.ts';
import { agents } from './index.ts';
import { plainText, shellWord } from './shared/text.ts';

type Session = Pick<WorkerView, 'worker' | 'agent' | 'parent' | 'cwd'>;

/** One line for a shell. Null: the agent has no such command, or it is a sub-agent, which only its parent can resume. */
export function resumeCommand({ worker, agent, parent, cwd }: Session, prompt: string): string | null {
  const resume = agents.get(agent ?? '')?.resume ?? null;
  if (resume === null || parent !== null) return null;
  const command = resume(worker, plainText(prompt)).map(shellWord).join(' ');
  // Agents keep their sessions by the folder that they began in.
  return cwd === null ? command : `cd ${shellWord(cwd)} && ${command}`;
}
