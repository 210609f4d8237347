/** OpenCode's plugin against a real service, with a stand-in for OpenCode. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { WorkerView } from '../../../machines/index.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';

const root = 'ses_root';
type Plugin = {
  event(call: { event: object }): Promise<void>;
  'chat.message'(input: object, output: object): Promise<void>;
};

let at: Deployment;
beforeAll(async () => {
  at = await deploy({ config: 'policies: { default: { checks: [{ plan: {} }] } }\n' });
  vi.stubEnv('STOPGATE_HTTP', at.http);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await at.close();
});
const view = async () => (await at.client.ask(`get.worker.${root}`)).body as unknown as WorkerView;

test('an idle session is prompted three times while a step remains, and then stays idle', async () => {
  const prompts: string[] = [];
  const client = {
    session: {
      get: async () => ({ data: {} }),
      messages: async () => ({ data: [{ info: { role: 'assistant' }, parts: [{ type: 'text', text: 'I am done' }] }] }),
      /** OpenCode reports this message to its plugins like any other. */
      promptAsync: async ({ body }: { body: { parts: { text: string }[] } }) => {
        prompts.push(body.parts[0]?.text ?? '');
        await plugin['chat.message']({ sessionID: root }, { parts: body.parts });
      },
    },
    app: { log: async () => ({}) },
  };
  const { StopgatePlugin } = (await import('../../../src/agents/opencode/plugin.ts')) as unknown as {
    StopgatePlugin(given: object): Promise<Plugin>;
  };
  const plugin = await StopgatePlugin({ client, directory: '/workspace/project' });
  const event = (type: string, properties: object) =>
    plugin.event({ event: { type, properties: { sessionID: root, ...properties } } });

  await event('session.created', { info: { id: root, directory: '/workspace/project' } });
  await plugin['chat.message']({ sessionID: root }, { parts: [{ type: 'text', text: 'say hello' }] });
  await event('todo.updated', { todos: [{ content: 'Write the tests', status: 'pending' }] });
  for (const count of [1, 2, 3]) {
    await event('session.idle', {});
    await expect.poll(() => prompts.length).toBe(count);
  }
  expect(prompts[0]).toContain('1 of 1 plan steps remain: Write the tests');
  await event('session.idle', {});
  await expect.poll(view).toMatchObject({ agent: 'opencode', state: 'stopped', lastDecision: { cause: 'capped' } });
  expect(prompts).toHaveLength(3);
});
