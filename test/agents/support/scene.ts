/** A real agent, connected by `stopgate init` to a service, with a scripted model: the fixtures of the agents' tests. */
import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { onTestFinished } from 'vitest';
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
  /** One headless run with a session of its own, whose worker is `worker`. */
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

export async function claudeScene(options: SceneOptions): Promise<Scene> {
  const { program, turns, lanes, env } = options;
  const model = await startMessages(turns, lanes);
  onTestFinished(() => model.close());
  const home = await makeHome();
  await connect('claude', home, options);
  return {
    home,
    model,
    async run(prompt, more = []) {
      const worker = randomUUID();
      const args = ['--session-id', worker, '--permission-mode', 'bypassPermissions', '--output-format', 'json'];
      const at = { at: home, env: { ...claudeEnv(home, model.url), ...env } };
      return { worker, ...(await runAgent(program, ['-p', prompt, ...args, ...more], at)) };
    },
  };
}

export async function codexScene(options: SceneOptions & { readonly config?: string }): Promise<Scene> {
  const { program, turns, lanes, env, config } = options;
  const model = await startResponses(turns, lanes);
  onTestFinished(() => model.close());
  const home = await makeHome();
  await writeCodexConfig(home, model.url, config);
  await connect('codex', home, options);
  return {
    home,
    model,
    async run(prompt, more = []) {
      const args = ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '--json'];
      const ended = await runAgent(program, [...args, ...more, prompt], {
        at: home,
        env: { ...codexEnv(home), ...env },
      });
      const [, worker = ''] = /"thread_id":"([^"]+)"/.exec(ended.stdout) ?? [];
      return { worker, ...ended };
    },
  };
}

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

/** Why each stop was answered as it was, in order. */
export const causesOf = async ({ client }: Deployment, worker: string): Promise<unknown[]> =>
  (await client.stored('STOPGATE_main', `stopgate.main.decision.${worker}`)).map(({ cause }) => cause);
