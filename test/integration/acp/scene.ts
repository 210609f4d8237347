/** A service with policies for the tests of `stopgate acp`, and what its log holds of a session. */
import { expect } from 'vitest';
import type { Decision, WorkerView } from '../../../machines/index.ts';
import { type Editor, type EditorOptions, openEditor, type Script, type Turns } from '../../support/acp-editor.ts';
import { type Deployment, type DeploymentOptions, deploy } from '../../support/deployment.ts';

const config = `policies:
  default: { checks: [{ plan: {} }] }
  thrice: { retries: 3, checks: [{ plan: {} }] }
  endless: { retries: null, checks: [{ plan: {} }] }
  frugal: { checks: [{ plan: {} }], budget: { tokens: 50 } }
  asking: { checks: [{ plan: {} }], budget: { tokens: 50 }, onBudget: escalate }
  once: { retries: 1, checks: [{ plan: {} }] }
  people: { promises: true }
  held: { persistence: { idle: 10m, hold: 5m } }
  inbox: { ask: 5m, checks: [{ plan: {} }] }
  patient: { bypass: [max_tokens], checks: [{ plan: {} }] }
`;

export type AcpScene = {
  readonly at: Deployment;
  open(script: Script, more?: Partial<EditorOptions>): Promise<Editor>;
  viewOf(worker: string): Promise<WorkerView>;
  /** The entries of a type about a worker, in order. */
  stored(worker: string, type: string): Promise<Record<string, unknown>[]>;
  /** Polls the causes of its decisions. */
  causesOf(worker: string): ReturnType<typeof expect.poll<string[]>>;
};

export async function openAcpScene(options: DeploymentOptions = {}): Promise<AcpScene> {
  const at = await deploy({ config, ...options });
  const read = (subject: string) => at.client.stored('STOPGATE_main', `stopgate.main.${subject}`);
  return {
    at,
    open: (script, { args = [], ...more } = {}) =>
      openEditor({ cwd: at.folder.path, args: ['--nats', at.server.url, ...args], script, ...more }),
    viewOf: async (worker) => (await at.client.ask(`get.worker.${worker}`)).body as unknown as WorkerView,
    stored: (worker, type) => read(`worker.${worker}.${type}`),
    causesOf: (worker) =>
      expect.poll(async () => ((await read(`decision.${worker}`)) as unknown as Decision[]).map(({ cause }) => cause)),
  };
}

/** A plan with a step that is left open in the first turn, and done in the second. */
export const open = { plan: { 'Write tests': 'completed', 'Fix lint': 'pending' } };
export const done = { plan: { 'Write tests': 'completed', 'Fix lint': 'completed' } };
export const unfinished: Turns = [
  [open, { say: 'I am done.' }],
  [done, { say: 'Now I am.' }],
];
/** The words of a session, without the empty lines around ours. */
export const wordsIn = (editor: Editor, session: string): string[] =>
  editor.saidIn(session).filter((it) => it.trim() !== '');
