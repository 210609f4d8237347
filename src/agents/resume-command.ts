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
  const words = resumeWords({ worker, agent, parent }, prompt);
  if (words === null) return null;
  const command = words.map(shellWord).join(' ');
  // Agents keep their sessions by the folder that they began in.
  return cwd === null ? command : `cd ${shellWord(cwd)} && ${command}`;
}

/**
 * The program and its arguments, for a process without a terminal: Qwen Code's prompt that starts a conversation needs one.
 * Null: as `resumeCommand`.
 */
export const resumeArguments = (session: Omit<Session, 'cwd'>, prompt: string): readonly string[] | null =>
  resumeWords(session, prompt)?.map((word) => (word === '--prompt-interactive' ? '--prompt' : word)) ?? null;

function resumeWords({ worker, agent, parent }: Omit<Session, 'cwd'>, prompt: string): readonly string[] | null {
  const resume = agents.get(agent ?? '')?.resume ?? null;
  return resume === null || parent !== null ? null : resume(worker, plainText(prompt));
}
