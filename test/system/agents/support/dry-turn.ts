/** Runs `stopgate doctor AGENT` with the real program in its own home, for a dry turn on loopback. */
import { dirname } from 'node:path';
import { expect } from 'vitest';
import { runShipped } from '../../../support/shipped.ts';
import { type AgentPackage, installAgent } from './install.ts';
import { cleanEnv, makeAgentHome } from './run.ts';

const blockHolds = /^dry turn: .*the first stop was blocked, and the agent continued with the reason$/;

/** Asserts that the hook fires and, by default, that a block holds. */
export async function expectDryTurn(agent: string, program: AgentPackage, ending = blockHolds): Promise<void> {
  const binary = await installAgent(program);
  const home = await makeAgentHome();
  const env = cleanEnv(home);
  const args = ['doctor', agent, '--json', '--http', '127.0.0.1:9'];
  const path = [dirname(binary), dirname(process.execPath), env.PATH].join(':');
  const { stdout } = await runShipped(args, { cwd: home.project, env: { ...env, PATH: path } });
  const { findings } = JSON.parse(stdout) as { findings: { state: string; about: string; text: string }[] };
  expect(findings.filter(({ about, state }) => about === agent && state === 'ok').map(({ text }) => text)).toEqual([
    expect.stringContaining(program.version),
    expect.stringMatching(ending),
  ]);
}
