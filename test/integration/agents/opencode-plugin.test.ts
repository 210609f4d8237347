/** OpenCode's plugin with a stand-in for OpenCode's client, against a service whose answers the test sets. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { StopgatePlugin } from '../../../src/agents/opencode/plugin.ts';
import { recordingsOf } from '../../unit/agents/recordings/recordings.ts';

const { recorded } = recordingsOf('opencode');
const root = 'ses_e03580e05ffex7kqJSOjm6k7LO';
const child = 'ses_e0357ef02ffeJqWQcJLgdPZI5x';
type Posted = { event: string | null; authorization: string | undefined; body: Record<string, unknown> };

const asking = recorded('permission.asked').properties as { id: string };

let server: Server;
let posted: Posted[];
/** The answer to the next idle session. Null is an empty 204. */
let answer: object | null;
/** The answers to successive requests for a resolution. When there are none, the request stays open. */
let resolutions: { status: number; body?: object }[];
let asked: string[];
let release: Promise<unknown>;

beforeEach(async () => {
  posted = [];
  answer = null;
  resolutions = [];
  asked = [];
  release = Promise.resolve();
  server = createServer((request, response) => {
    if (request.url?.startsWith('/hooks/opencode/wake')) {
      asked.push(request.url);
      const { status, body } = resolutions.shift() ?? {};
      if (status !== undefined) response.writeHead(status).end(body === undefined ? undefined : JSON.stringify(body));
      return;
    }
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', async () => {
      const event = new URL(request.url ?? '', 'http://x').searchParams.get('event');
      posted.push({
        event,
        authorization: request.headers.authorization,
        body: JSON.parse(Buffer.concat(parts).toString()),
      });
      if (event === 'session.idle' || event === 'permission.asked') await release;
      const told = event === 'session.idle' || event === 'permission.asked' ? answer : null;
      response.writeHead(told === null ? 204 : 200, { 'content-type': 'application/json' });
      response.end(told === null ? undefined : JSON.stringify(told));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  vi.stubEnv('STOPGATE_HTTP', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

async function load() {
  const client = {
    session: {
      get: vi.fn(async () => ({ data: {} as { parentID?: string } })),
      messages: vi.fn(async () => ({
        data: [
          { info: { role: 'assistant' }, parts: [{ type: 'text', text: 'an older one' }] },
          { info: { role: 'assistant' }, parts: [{ type: 'step-start' }, { type: 'text', text: 'I am done' }] },
        ],
      })),
      promptAsync: vi.fn(async () => ({})),
    },
    app: { log: vi.fn(async () => ({})) },
    _client: { post: vi.fn(async (): Promise<{ error?: unknown }> => ({})) },
  };
  const plugin = await StopgatePlugin({ client, directory: '/workspace/project' });
  const event = (name: string, more: object = {}) => plugin.event({ event: { ...recorded(name), ...more } as never });
  const message = (text: string) => plugin['chat.message']({ sessionID: root }, { parts: [{ type: 'text', text }] });
  return { client, plugin, event, message };
}
const events = () => posted.map(({ event }) => event);
const settled = (count: number) => expect.poll(() => posted.length).toBe(count);
const block = { decision: 'block', reason: 'the tests have not been run yet' };

test('a blocked idle session gets a new prompt, an allowed one does not', async () => {
  const { client, event } = await load();
  answer = block;
  await event('session.idle');
  await expect
    .poll(() => client.session.promptAsync.mock.calls)
    .toEqual([[{ path: { id: root }, body: { parts: [{ type: 'text', text: block.reason }] } }]]);
  expect(posted[0]).toMatchObject({
    event: 'session.idle',
    body: { properties: { sessionID: root }, lastMessage: 'I am done', directory: '/workspace/project' },
  });
  answer = null;
  await event('session.idle');
  await settled(2);
  expect(client.session.promptAsync).toHaveBeenCalledTimes(1);
});

test('a note about an allowed stop goes to the log', async () => {
  const { client, event } = await load();
  answer = { note: 'stopgate: this stop was not judged' };
  await event('session.idle');
  await expect
    .poll(() => client.app.log.mock.calls)
    .toEqual([[{ body: { service: 'stopgate', level: 'warn', message: 'stopgate: this stop was not judged' } }]]);
  expect(client.session.promptAsync).not.toHaveBeenCalled();
});

test('an operator’s answer becomes the reply to a request, and nothing else waits for it', async () => {
  const { client, event } = await load();
  let reply = () => {};
  release = new Promise<void>((done) => {
    reply = done;
  });
  answer = { reply: { reply: 'once' } };
  await event('permission.asked');
  await event('todo.updated');
  await settled(2);
  expect(client._client.post).not.toHaveBeenCalled();
  reply();
  await expect
    .poll(() => client._client.post.mock.calls)
    .toMatchObject([
      [{ url: '/permission/{requestID}/reply', path: { requestID: asking.id }, body: { reply: 'once' } }],
    ]);
  client._client.post.mockResolvedValue({ error: { name: 'NotFoundError' } });
  await event('permission.asked');
  await expect.poll(() => JSON.stringify(client.app.log.mock.calls)).toContain('could not reply for the operator');
});

test('accepts HOST:PORT, a port or a URL for the service, like every command', async () => {
  const { port } = server.address() as AddressInfo;
  for (const [index, http] of [`127.0.0.1:${port}`, String(port), `http://127.0.0.1:${port}/`].entries()) {
    vi.stubEnv('STOPGATE_HTTP', http);
    const { event } = await load();
    await event('session.created');
    await settled(index + 1);
  }
});

test('events are posted in order, tools without their output', async () => {
  const { plugin, event, message } = await load();
  await event('session.created');
  await message('say hello');
  await event('todo.updated');
  const starting = recorded('tool.execute.before') as { input: never };
  await plugin['tool.execute.before'](starting.input);
  const { input, output } = recorded('tool.execute.after') as never;
  await plugin['tool.execute.after'](input, output);
  await event('message.part.delta');
  await event('session.idle');
  await settled(6);
  expect(events()).toEqual([
    'session.created',
    'chat.message',
    'todo.updated',
    'tool.execute.before',
    'tool.execute.after',
    'session.idle',
  ]);
  expect(posted[4]?.body).toEqual({
    input: { sessionID: root, tool: 'bash', callID: 'call_fake_2_0', args: { command: 'echo hello' } },
    output: { metadata: { exit: 0 } },
    directory: '/workspace/project',
  });
});

test('a sub-agent is not prompted, whether known from its start or from OpenCode', async () => {
  const { client, event } = await load();
  answer = block;
  await event('session.created.child');
  await event('session.idle.child');
  await settled(2);
  const later = await load();
  later.client.session.get.mockResolvedValue({ data: { parentID: root } });
  await later.event('session.idle.child');
  await settled(3);
  expect(client.session.get).not.toHaveBeenCalled();
  expect(later.client.session.get).toHaveBeenCalledWith({ path: { id: child } });
  for (const { session } of [client, later.client]) expect(session.promptAsync).not.toHaveBeenCalled();
});

test('after an error, the session does not ask to stop until it is prompted', async () => {
  const { client, event, message } = await load();
  answer = block;
  await event('session.error', { properties: { sessionID: root, error: { name: 'APIError' } } });
  await event('session.idle');
  await event('session.idle');
  await message('try again');
  await event('session.idle');
  await settled(3);
  expect(events()).toEqual(['session.error', 'chat.message', 'session.idle']);
  await expect.poll(() => client.session.promptAsync.mock.calls.length).toBe(1);
});

test('an idle session asks once, and a prompt in the meantime cancels the request', async () => {
  const { client, event, message } = await load();
  answer = block;
  let open = () => {};
  release = new Promise<void>((done) => {
    open = done;
  });
  await event('session.idle');
  await event('session.idle');
  await settled(1);
  await message('I have a better idea');
  await settled(2);
  open();
  release = Promise.resolve();
  await event('session.idle');
  await settled(3);
  await expect.poll(() => client.session.promptAsync.mock.calls.length).toBe(1);
  expect(events()).toEqual(['session.idle', 'chat.message', 'session.idle']);
});

test('an unreachable service is logged once, and nothing else happens', async () => {
  vi.stubEnv('STOPGATE_HTTP', 'http://127.0.0.1:9');
  const { client, event, message } = await load();
  await message('hello');
  await event('session.idle');
  await expect.poll(() => client.session.messages.mock.calls.length).toBe(1);
  await event('todo.updated');
  await expect
    .poll(() => client.app.log.mock.calls)
    .toEqual([
      [{ body: { service: 'stopgate', level: 'warn', message: expect.stringContaining('nothing is judged') } }],
    ]);
  expect(client.session.promptAsync).not.toHaveBeenCalled();
});

describe('a session that waits for a person', () => {
  const waits = { decision: 'allow', waits: true };
  const resolved = { status: 200, body: { prompt: 'Use the other key' } };
  const prompts = (client: Awaited<ReturnType<typeof load>>['client']) =>
    client.session.promptAsync.mock.calls as unknown as [{ body: object }][];

  test('gets the prompt of the resolution once, no matter how often it had to ask', async () => {
    const { client, event } = await load();
    answer = waits;
    resolutions = [{ status: 204 }, resolved];
    await event('session.idle');
    await expect
      .poll(() => prompts(client))
      .toEqual([[{ path: { id: root }, body: { parts: [{ type: 'text', text: 'Use the other key' }] } }]]);
    expect(asked).toEqual(Array(2).fill(`/hooks/opencode/wake?worker=${root}`));
  });

  test.each([
    ['the resolution has no prompt', { status: 200, body: { prompt: null } }],
    ['it is unknown', { status: 404 }],
  ])('is not prompted if %s', async (_why, resolution) => {
    const { client, event, message } = await load();
    answer = waits;
    resolutions = [resolution, resolved];
    await event('session.idle');
    await expect.poll(() => asked.length).toBe(1);
    answer = null;
    await message('hello');
    await event('session.idle');
    await settled(3);
    expect([prompts(client).length, asked.length]).toEqual([0, 1]);
  });

  test('stops waiting when it is prompted or deleted', async () => {
    const { client, event, message } = await load();
    answer = waits;
    const gone = vi.fn();
    server.on('request', ({ url = '' }, response) => {
      if (url.includes('/wake')) response.once('close', gone);
    });
    for (const end of [() => message('I am here'), () => event('session.idle', { type: 'session.deleted' })]) {
      await event('session.idle');
      const before = asked.length;
      await expect.poll(() => asked.length).toBe(before + 1);
      await end();
      await expect.poll(() => gone.mock.calls.length).toBe(before + 1);
    }
    expect(prompts(client)).toEqual([]);
  });
});

test('never throws, whatever OpenCode answers', async () => {
  const { client, event } = await load();
  answer = block;
  client.session.get.mockRejectedValue(new Error('gone'));
  await event('session.idle');
  await expect.poll(() => client.app.log.mock.calls.length).toBe(1);
  client.session.get.mockResolvedValue({ data: {} });
  client.session.messages.mockRejectedValue(new Error('gone'));
  client.session.promptAsync.mockRejectedValue(new Error('gone'));
  await event('session.idle');
  await expect.poll(() => client.app.log.mock.calls.length).toBe(2);
  await event('session.idle', { properties: undefined });
});

test('a token is sent', async () => {
  vi.stubEnv('STOPGATE_TOKEN', 't1');
  const { event } = await load();
  await event('session.idle');
  await settled(1);
  expect(posted[0]?.authorization).toBe('Bearer t1');
});

test('the file has a single export, because OpenCode treats each as a plugin', async () => {
  expect(Object.keys(await import('../../../src/agents/opencode/plugin.ts'))).toEqual(['StopgatePlugin']);
});
