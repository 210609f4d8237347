/** A service with policies for the tests of `stopgate acp`, and the entries of a session in its log. */
import { expect } from 'vitest';
import type { Decision, WorkerView } from '../../../machines/index.ts';
import {
  chosen,
  type Editor,
  type EditorOptions,
  openEditor,
  type Script,
  type Turns,
} from '../../support/acp-editor.ts';
import { type Deployment, type DeploymentOptions, deploy } from '../../support/deployment.ts';

const config = `policies:
  default: { checks: [{ plan: {} }] }
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
  /**
   * An editor with sessions of these turns. Those with the same arguments are one command and one agent, since starting
   * an agent costs more than its turns: do not end it.
   */
  open(turns: Turns, more?: Pick<EditorOptions, 'onPermission'> & { args?: readonly string[] }): Promise<Editor>;
  /** Starts a separate command and agent for the test. */
  openAlone(script: Script, more?: Partial<EditorOptions>): Promise<Editor>;
  close(): Promise<void>;
  viewOf(worker: string): Promise<WorkerView>;
  /** The entries of a type about a worker, in order. */
  stored(worker: string, type: string): Promise<Record<string, unknown>[]>;
  /** Polls the causes of the worker's decisions. */
  causesOf(worker: string): ReturnType<typeof expect.poll<string[]>>;
};

export async function openAcpScene(options: DeploymentOptions = {}): Promise<AcpScene> {
  const at = await deploy({ config, ...options });
  const read = (subject: string) => at.client.stored('STOPGATE_main', `stopgate.main.${subject}`);
  const openAlone: AcpScene['openAlone'] = (script, { args = [], ...more } = {}) =>
    openEditor({ cwd: at.folder.path, args: ['--nats', at.server.url, ...args], script, ...more });
  const shared = new Map<string, Promise<Editor>>();
  /** The person's reply by session. Default: the first option, which allows. */
  const persons = new Map<string, EditorOptions['onPermission']>();
  const openShared = (args: readonly string[]) =>
    openAlone(
      {},
      {
        args,
        endsWithTest: false,
        onPermission: async (asked) =>
          persons.get(asked.sessionId)?.(asked) ?? chosen(asked.options[0]?.optionId ?? ''),
      },
    );
  return {
    at,
    async open(turns, { args = [], onPermission } = {}) {
      const key = args.join(' ');
      const opening = shared.get(key) ?? openShared(args);
      shared.set(key, opening);
      const editor = await opening;
      return {
        ...editor,
        async newSession(folder) {
          const session = await editor.newSession(folder, turns);
          persons.set(session, onPermission);
          return session;
        },
      };
    },
    openAlone,
    async close() {
      for (const editor of shared.values()) await (await editor).leave();
      await at.close();
    },
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
/** Returns the messages of a session, without the empty lines around ours. */
export const wordsIn = (editor: Editor, session: string): string[] =>
  editor.saidIn(session).filter((it) => it.trim() !== '');
