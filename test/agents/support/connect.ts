/** Connects an agent to a service as its user would: by `stopgate init`. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { main } from '../../support/service-process.ts';
import type { AgentHome } from './run.ts';

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
