/** Connects an agent to a service with `stopgate init`, like a user. */
import { dirname } from 'node:path';
import type { WorkerView } from '../../../../machines/index.ts';
import { resumeCommand } from '../../../../src/agents/index.ts';
import { runShipped } from '../../../support/shipped.ts';
import { type AgentHome, type AgentRun, cleanEnv, runAgent } from './run.ts';

type Connection = {
  /** The folder of the agent's program, put on PATH: `init` asks Codex for the hashes to trust. */
  readonly program: string;
  /** The address of the service. */
  readonly http: string;
  /** More options of `stopgate init`. */
  readonly init?: readonly string[];
};

export async function connectAgent(
  agent: string,
  at: AgentHome,
  { program, http, init = [] }: Connection,
): Promise<void> {
  const env = { ...cleanEnv(at), PATH: pathWith(program) };
  const run = async (options: readonly string[]) => {
    const args = ['init', agent, '--yes', '--http', http.replace('http://', ''), ...options];
    const { code, stderr } = await runShipped(args, { cwd: at.project, env });
    if (code !== 0) throw new Error(`stopgate init ${agent} ended with ${code}: ${stderr}`);
  };
  await run(init.filter((option) => option !== '--usage'));
  // Usage alone is a run of its own: it writes no hooks.
  if (init.includes('--usage')) await run(init);
}

/** Resumes a session with the command that `stopgate resolve` prints. */
export function resumeAgent(
  program: string,
  session: WorkerView | undefined,
  prompt: string,
  { at, env }: { readonly at: AgentHome; readonly env: Record<string, string> },
): Promise<AgentRun> {
  const line = session === undefined ? null : resumeCommand(session, prompt);
  return runAgent('/bin/sh', ['-c', line ?? 'exit 99'], { at, env: { ...env, PATH: pathWith(program) } });
}

const pathWith = (program: string): string =>
  [dirname(program), dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':');
