/** Connects an agent to a service as its user would: by `stopgate init`. */
import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import type { WorkerView } from '../../../machines/index.ts';
import { resumeCommand } from '../../../src/hooks/index.ts';
import { main } from '../../support/service-process.ts';
import { type AgentHome, type AgentRun, runAgent } from './run.ts';

const run = promisify(execFile);

export async function connectAgent(
  agent: string,
  at: AgentHome,
  http: string,
  more: readonly string[] = [],
): Promise<void> {
  const args = [main, 'init', agent, '--http', http, '--yes', ...more];
  await run(process.execPath, args, { cwd: at.project, env: { PATH: '/usr/bin:/bin', HOME: at.home } });
}

/** Starts a session again by the line that `stopgate resolve` prints for a person. */
export function resumeAgent(
  program: string,
  session: WorkerView | undefined,
  prompt: string,
  { at, env }: { readonly at: AgentHome; readonly env: Record<string, string> },
): Promise<AgentRun> {
  const line = session === undefined ? null : resumeCommand(session, prompt);
  const path = `${dirname(program)}:/usr/local/bin:/usr/bin:/bin`;
  return runAgent('/bin/sh', ['-c', line ?? 'exit 99'], { at, env: { ...env, PATH: path } });
}
