/** A real agent, connected by `stopgate init` to a service, with a scripted model: the fixtures of the agents' tests. */
import { dirname } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { WorkerView } from '../../../machines/index.ts';
import { runCommand } from '../../support/command.ts';
import type { Deployment } from '../../support/deployment.ts';
import { startFakeModel as startMessages } from './anthropic.ts';
import { startFakeModel as startResponses } from './responses.ts';
import {
  type AgentHome,
  type AgentRun,
  claudeEnv,
  cleanEnv,
  codexEnv,
  makeAgentHome,
  runAgent,
  writeCodexConfig,
} from './run.ts';
import type { FakeModel, Lane, Turn } from './scripted.ts';

export type Scene = {
  readonly home: AgentHome;
  readonly model: FakeModel;
  /** One headless run, by default with a session of its own; `worker`: what it is known as. */
  run(prompt: string, more?: readonly string[]): Promise<AgentRun & { readonly worker: string }>;
};
export type SceneOptions = {
  readonly program: string;
  /** Of the service. */
  readonly http: string;
  readonly turns: readonly Turn[];
  readonly lanes?: readonly Lane[];
  /** For `stopgate init`; null: it is not run. */
  readonly init?: readonly string[] | null;
  readonly env?: Readonly<Record<string, string>>;
};

/** Without it only some models get them. */
export const planTools = { CLAUDE_CODE_ENABLE_TODO_TOOLS: '1' };

export async function claudeScene(options: SceneOptions): Promise<Scene> {
  const { program, turns, lanes } = options;
  const model = await startMessages(turns, lanes);
  onTestFinished(() => model.close());
  const home = await makeHome();
  await connect('claude', home, options);
  return {
    home,
    model,
    async run(prompt, more = []) {
      const args = ['--output-format', 'json', '--permission-mode', 'bypassPermissions', ...more];
      const env = { ...claudeEnv(home, model.url), ...planTools, ...options.env };
      const ended = await runAgent(program, ['-p', prompt, ...args], { at: home, env });
      return { worker: idIn(ended.stdout, /"session_id":"([^"]+)"/), ...ended };
    },
  };
}

export async function codexScene(options: SceneOptions & { readonly config?: string }): Promise<Scene> {
  const { program, turns, lanes, config } = options;
  const model = await startResponses(turns, lanes);
  onTestFinished(() => model.close());
  const home = await makeHome();
  await writeCodexConfig(home, model.url, config);
  await connect('codex', home, options);
  return {
    home,
    model,
    async run(prompt, more = []) {
      const args = ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
      const ended = await runAgent(program, [...args, ...more, prompt], {
        at: home,
        env: { ...codexEnv(home), ...options.env },
      });
      return { worker: idIn(ended.stderr, /^session id: (.+)$/m), ...ended };
    },
  };
}

const idIn = (text: string, where: RegExp): string => where.exec(text)?.[1] ?? '';

async function makeHome(): Promise<AgentHome> {
  const home = await makeAgentHome();
  onTestFinished(() => home.remove());
  return home;
}

/** As a person would, with the agent's program on PATH (Codex is asked for the hashes that it is to trust). */
async function connect(
  agent: 'claude' | 'codex',
  home: AgentHome,
  { program, http, init = [] }: SceneOptions,
): Promise<void> {
  if (init === null) return;
  const clean = cleanEnv(home);
  const env = { ...clean, ...codexEnv(home), PATH: `${dirname(program)}:${dirname(process.execPath)}:${clean.PATH}` };
  const args = ['init', agent, '--yes', '--http', http.replace('http://', ''), ...init];
  const { code, stderr } = await runCommand(args, { cwd: home.project, env });
  if (code !== 0) throw new Error(`stopgate init ${agent} ended with ${code}: ${stderr}`);
}

export const viewOf = async ({ client }: Deployment, worker: string): Promise<WorkerView> =>
  (await client.ask(`get.worker.${worker}`)).body as unknown as WorkerView;

/** What a worker's calls have said, in order. */
export const saidOf = ({ client }: Deployment, worker: string, type: string): Promise<Record<string, unknown>[]> =>
  client.stored('STOPGATE_main', `stopgate.main.worker.${worker}.${type}`);

/** Why each stop was answered as it was, in order. An answer may be a little ahead of its entry. */
export async function expectCauses({ client }: Deployment, worker: string, causes: readonly string[]): Promise<void> {
  const stored = () => client.stored('STOPGATE_main', `stopgate.main.decision.${worker}`);
  await expect.poll(async () => (await stored()).map(({ cause }) => cause), { timeout: 10_000 }).toEqual(causes);
}

/** Sub-agents of a session, as workers. */
export async function childrenOf({ client }: Deployment, parent: string): Promise<WorkerView[]> {
  const { items } = (await client.ask('list.workers')).body as unknown as { items: WorkerView[] };
  return items.filter((worker) => worker.parent === parent);
}
