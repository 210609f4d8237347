/**
 * A stop whose answer is lost is posted again with the same key. It is one attempt and counts once. The proxy forwards
 * the call, and closes the connection before the answer or in the middle of it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { stopHooks } from '../../../src/agents/claude/agent-sdk.ts';
import { hookCommand } from '../../../src/agents/claude/hook-command.ts';
import { StopgatePlugin } from '../../../src/agents/opencode/plugin.ts';
import { stopEvents } from '../../../src/agents/setup/hook-events.ts';
import { type Form, formatCommand } from '../../../src/agents/setup/line.ts';
import { runCommand } from '../../support/command.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { recorded } from '../../unit/agents/recordings/claude.ts';
import { recordingsOf } from '../../unit/agents/recordings/recordings.ts';

let at: Deployment;
beforeAll(async () => {
  at = await deploy({ config: 'policies: { default: { checks: [{ plan: { required: true } }] } }\n' });
});
afterAll(() => at.close());

/** The part of the first answer that arrives. */
type Loss = 'nothing' | 'half';

async function openLossyProxy(kept: Loss): Promise<string> {
  let isLost = false;
  const ends = new Set<() => void>();
  const target = Number(new URL(at.http).port);
  const listener = createServer((client) => {
    const server = connect(target, '127.0.0.1');
    const end = () => {
      client.destroy();
      server.destroy();
    };
    ends.add(end);
    for (const socket of [client, server]) socket.on('error', end).on('close', end);
    client.pipe(server);
    server.once('data', (bytes: Buffer) => {
      if (isLost) {
        client.write(bytes);
        server.pipe(client);
        return;
      }
      isLost = true;
      const bodyAt = bytes.indexOf('\r\n\r\n') + 4;
      client.end(kept === 'half' ? bytes.subarray(0, (bodyAt + bytes.length) / 2) : '', end);
    });
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  onTestFinished(async () => {
    listener.close();
    for (const end of ends) end();
    await once(listener, 'close');
  });
  return `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
}

/** Posts a stop of this session and returns the agent's answer. */
type Ask = (http: string, session: string) => Promise<string>;
const stopOf = (session: string) => ({ ...recorded('Stop'), session_id: session });

const byLine =
  (form: Form, shell: string): Ask =>
  async (http, session) => {
    const [stop] = stopEvents('Stop');
    const line = { http, policy: undefined, fleet: undefined, tokenEnv: undefined, autostart: undefined };
    const command = formatCommand({ agent: 'claude', hook: hookCommand }, stop ?? null, {
      ...line,
      form,
      onUnreachable: 'allow',
      wake: false,
      program: [],
    });
    const child = spawn(shell, ['-c', command], { stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin.end(JSON.stringify(stopOf(session)));
    const [answer, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    expect(code).toBe(0);
    return answer;
  };

const byPlugin: Ask = async (http, session) => {
  vi.stubEnv('STOPGATE_HTTP', http);
  onTestFinished(() => void vi.unstubAllEnvs());
  const promptAsync = vi.fn(async (_request: object) => ({}));
  const client = {
    session: { get: async () => ({ data: {} }), messages: async () => ({ data: [] }), promptAsync },
    app: { log: async () => ({}) },
  };
  const plugin = await StopgatePlugin({ client });
  const idle = recordingsOf('opencode').recorded('session.idle');
  await plugin.event({ event: { ...idle, properties: { sessionID: session } } as never });
  await expect.poll(() => promptAsync.mock.calls.length).toBe(1);
  return JSON.stringify(promptAsync.mock.calls);
};

const forms: Record<string, Ask> = {
  'the hook command': async (http, session) =>
    (await runCommand(['hook', 'claude', '--http', http], { cwd: '/', stdin: JSON.stringify(stopOf(session)) })).stdout,
  'sh and curl': byLine('curl', '/bin/sh'),
  'bash and curl': byLine('http+curl', 'bash'),
  'the Agent SDK': async (http, session) => {
    const { signal } = new AbortController();
    const ask = stopHooks({ http }).Stop?.[0]?.hooks[0];
    return JSON.stringify(await ask?.(stopOf(session) as never, undefined, { signal }));
  },
  'the plugin of OpenCode': byPlugin,
  'an HTTP client that names its call': async (http, session) => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'call-1' };
    const ask = async () => {
      const answer = await fetch(`${http}/hooks/claude`, {
        method: 'POST',
        headers,
        body: JSON.stringify(stopOf(session)),
      });
      return answer.text();
    };
    return ask().catch(ask);
  },
};
const losses = [
  ['the whole answer', 'nothing'],
  ['half of the answer', 'half'],
] as const;

describe.each(losses)('%s is lost', (loss, kept) => {
  test.each(Object.keys(forms))('%s', async (form) => {
    const session = `${form} ${loss}`.replaceAll(/[^A-Za-z]+/g, '-');
    const http = await openLossyProxy(kept);
    const answer = await forms[form]?.(http, session);
    expect(answer).toContain('No plan yet');
    const lastDecision = { decision: 'block', cause: 'incomplete' };
    const { body } = await at.client.ask(`get.worker.${session}`);
    expect(body).toMatchObject({ retry: { count: 1 }, lastDecision });
  });
});

test('two calls with the same message are two attempts', async () => {
  const ask = forms['the hook command'] as Ask;
  await ask(at.http, 'twice');
  await ask(at.http, 'twice');
  expect((await at.client.ask('get.worker.twice')).body).toMatchObject({ retry: { count: 2 } });
});

test('the events of a call are stored once, however often it is posted with its key', async () => {
  const post = (key: string) =>
    fetch(`${at.http}/hooks/claude`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify({ ...recorded('PostToolUse'), session_id: 'tools-1' }),
    });
  for (const key of ['call-1', 'call-1', 'call-2']) expect((await post(key)).status).toBe(204);
  expect((await at.client.ask('get.worker.tools-1')).body).toMatchObject({ toolCount: 2 });
  // A key need not be an id. It may be quoted, as in the standard, or contain anything.
  for (const key of ['"call-2"', 'not an id', 'not an id']) expect((await post(key)).status).toBe(204);
  expect((await at.client.ask('get.worker.tools-1')).body).toMatchObject({ toolCount: 3 });
});
