/** The OTLP receiver, with recorded data of agents (without personal data and prompts). */
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { hashOfToken } from '../../../../src/config/access-tokens.ts';
import { AppError } from '../../../../src/errors.ts';
import { ask } from '../request.ts';
import { errorOf, useServer } from '../server-fixture.ts';
import { claudeCode as claude, codex, copilot, gemini, qwen } from './recordings.ts';

const http = useServer();
const read = (name: string) => readFileSync(new URL(name, import.meta.url));
const logsInProtobuf = read('claude-code.logs.bin');

const session = '088f314d-5f44-47af-9aca-cec166154719';
const conversation = '01a209da-c697-7031-b692-18b46d0c549d';
const inProtobuf = /"?session\.id[^0-9a-f]*([0-9a-f-]{36})/.exec(logsInProtobuf.toString('latin1'))?.[1] as string;
const know = (...workers: string[]) => {
  for (const worker of workers) http.service.views.set(worker, {});
};
const post = (path: string, body: Uint8Array | string, headers: Record<string, string>) =>
  fetch(`${http.server.url}${path}`, { method: 'POST', body, headers });
const protobuf = { 'content-type': 'application/x-protobuf' };
/** The reports without their source; see `sources`. */
const reports = () =>
  http.service.published.map(({ id, type, data }) => {
    const { source: _, ...rest } = data as { source?: string };
    return { id, type, data: rest };
  });
const sources = () => http.service.published.map(({ data }) => (data as { source?: string }).source);

test('Claude Code: one event per request to its model', async () => {
  know(session);
  const { status, json } = await ask(http.server.url, '/v1/logs', { body: claude.logs });
  expect([status, json]).toEqual([200, {}]);
  const data = { input: 1, output: 1, usd: 0.000_023_999_999_999_999_997, model: 'claude-opus-5-5' };
  expect(reports()).toEqual([
    { id: session, type: 'usage.reported', data },
    { id: session, type: 'usage.reported', data },
  ]);
});

test('repeated data has the same ids, and two events never share one', async () => {
  know(session);
  await ask(http.server.url, '/v1/logs', { body: claude.logs });
  await ask(http.server.url, '/v1/logs', { body: claude.logs });
  const ids = http.service.published.map(({ messageId }) => messageId);
  expect(ids).toHaveLength(4);
  expect(ids.slice(2)).toEqual(ids.slice(0, 2));
  expect(new Set(ids).size).toBe(2);
});

test('its metrics report the same under another source; the fleet counts the first source only', async () => {
  know(session);
  await ask(http.server.url, '/v1/metrics', { body: claude.metrics });
  expect(reports()).toEqual([
    {
      id: session,
      type: 'usage.reported',
      data: { input: 2, output: 2, usd: 0.000_047_999_999_999_999_994, model: 'claude-opus-5-5' },
    },
  ]);
  await ask(http.server.url, '/v1/logs', { body: claude.logs });
  expect(sources()).toEqual(['metrics', 'logs', 'logs']);
});

test('only the growth of a cumulative metric counts', async () => {
  know('s1');
  const send = (value: number, startMs = Date.now() + 60_000) => {
    const point = {
      attributes: [
        { key: 'session.id', value: { stringValue: 's1' } },
        { key: 'type', value: { stringValue: 'output' } },
      ],
      startTimeUnixNano: `${startMs}000000`,
      asInt: String(value),
    };
    const metric = { name: 'claude_code.token.usage', sum: { aggregationTemporality: 2, dataPoints: [point] } };
    return ask(http.server.url, '/v1/metrics', {
      body: { resourceMetrics: [{ scopeMetrics: [{ metrics: [metric] }] }] },
    });
  };
  const startMs = Date.now() + 60_000;
  for (const value of [10, 10, 25]) await send(value, startMs);
  expect(reports().map(({ data }) => data)).toEqual([{ output: 10 }, { output: 15 }]);
  // It started before this service, so it is unknown how much of it was counted.
  await send(1_000, 1);
  expect(reports()).toHaveLength(2);
});

test('growth that could not be stored counts with the next report, once', async () => {
  know('s1');
  const startMs = Date.now() + 60_000;
  const send = async (value: number) => {
    const attributes = [
      { key: 'session.id', value: { stringValue: 's1' } },
      { key: 'type', value: { stringValue: 'output' } },
    ];
    const point = { attributes, startTimeUnixNano: `${startMs}000000`, timeUnixNano: `${value}`, asInt: value };
    const sum = { aggregationTemporality: 'AGGREGATION_TEMPORALITY_CUMULATIVE', dataPoints: [point] };
    const metrics = [{ name: 'claude_code.token.usage', sum }];
    const body = { resourceMetrics: [{ scopeMetrics: [{ metrics }] }] };
    return (await ask(http.server.url, '/v1/metrics', { body })).status;
  };
  expect(await send(10)).toBe(200);
  http.service.fault = new AppError('log.unavailable', 'away');
  expect(await send(25)).toBe(503);
  http.service.fault = null;
  expect(await Promise.all([send(25), send(30), send(30)])).toEqual([200, 200, 200]);
  expect(reports().map(({ data }) => data)).toEqual([{ output: 10 }, { output: 15 }, { output: 5 }]);
});

test('a field of another type is skipped alone; numbers may have all forms of ProtoJSON', async () => {
  know('s1');
  const value = (it: unknown) => ({ value: it });
  const record = (attributes: unknown) => ({
    timeUnixNano: 7,
    body: { stringValue: 'claude_code.api_request' },
    attributes,
  });
  const good = [
    { key: 'session.id', ...value({ stringValue: 's1' }) },
    { key: 'cost_usd', ...value({ doubleValue: '0.6' }) },
    { key: 'input_tokens', ...value({ intValue: '100' }) },
    { key: 'ratio', ...value({ doubleValue: 'NaN' }) },
    { key: 'limit', ...value({ doubleValue: 'Infinity' }) },
    { key: 'odd', ...value({ doubleValue: {} }) },
    { key: 'odd', ...value(7) },
    { key: 7, ...value({ stringValue: 'x' }) },
    null,
    'odd',
  ];
  const logRecords = [null, 7, record('odd'), record(good), { ...record(good), body: 'odd', timeUnixNano: {} }];
  const body = { resourceLogs: [7, { scopeLogs: {} }, { resource: 'odd', scopeLogs: [null, { logRecords }] }] };
  expect(await ask(http.server.url, '/v1/logs', { body })).toMatchObject({ status: 200, json: {} });
  expect(reports().map(({ data }) => data)).toEqual([{ input: 100, usd: 0.6 }]);
  const { text } = await ask(http.server.url, '/metrics', { method: 'GET' });
  expect(text).toMatch(/stopgate_unread_fields_total\{from="otlp",field="doubleValue"\} [1-9]/);
});

test('Codex: only the end of a response has token counts', async () => {
  know(conversation);
  expect((await ask(http.server.url, '/v1/logs', { body: codex.logs })).status).toBe(200);
  expect(reports()).toEqual([
    { id: conversation, type: 'usage.reported', data: { input: 1, output: 1, model: 'fake-model' } },
  ]);
});

const eventOf = (name: string, attributes: Record<string, string | number>) => ({
  resourceLogs: [
    {
      scopeLogs: [
        {
          logRecords: [
            {
              attributes: Object.entries({ 'event.name': name, ...attributes }).map(([key, it]) => ({
                key,
                value: typeof it === 'number' ? { intValue: String(it) } : { stringValue: it },
              })),
            },
          ],
        },
      ],
    },
  ],
});

test.each(['gemini_cli.api_response', 'qwen-code.api_response'])('%s', async (name) => {
  know('s1');
  const counts = {
    input_token_count: 100,
    cached_content_token_count: 60,
    output_token_count: 7,
    thoughts_token_count: 3,
  };
  await ask(http.server.url, '/v1/logs', { body: eventOf(name, { 'session.id': 's1', model: 'g', ...counts }) });
  expect(reports()).toEqual([
    { id: 's1', type: 'usage.reported', data: { input: 40, cacheRead: 60, output: 10, model: 'g' } },
  ]);
});

// Each model reported 100 of input, of which 60 from a cache, and 20 of thoughts: Gemini in addition to 30 of output
// and 5 for tools, the others as a part of 50 of output.
test.each([
  ['gemini', '/v1/logs', gemini.logs, 'fce05901-4ac8-403f-a584-c49e333657a3', { input: 45, output: 50, cacheRead: 60 }],
  ['qwen', '/v1/logs', qwen.logs, '4bd8e312-265f-462f-877a-ba16b7666585', { input: 40, output: 50, cacheRead: 60 }],
  [
    'copilot',
    '/v1/traces',
    copilot.traces,
    '832a8b7f-f5e1-40f7-88f7-b489df691a15',
    { input: 40, output: 50, cacheRead: 60 },
  ],
])('%s: each of its two requests counts once, without a token too many', async (_agent, path, body, worker, data) => {
  know(worker);
  expect((await ask(http.server.url, path, { body })).json).toEqual({});
  const report = { id: worker, type: 'usage.reported', data: { ...data, model: 'scripted' } };
  expect(reports()).toEqual([report, report]);
});

test('Copilot: a span by the GenAI conventions; spans of other agents repeat their events', async () => {
  know('c1');
  const spanOf = (service: string, operation: string) => {
    const texts = { 'gen_ai.operation.name': operation, 'gen_ai.conversation.id': 'c1', 'gen_ai.request.model': 'm' };
    const attributes = [
      ...Object.entries(texts).map(([key, stringValue]) => ({ key, value: { stringValue } })),
      { key: 'gen_ai.usage.input_tokens', value: { intValue: 5 } },
      { key: 'gen_ai.usage.output_tokens', value: { intValue: '6' } },
    ];
    const resource = { attributes: [{ key: 'service.name', value: { stringValue: service } }] };
    return { resourceSpans: [{ resource, scopeSpans: [{ spans: [{ traceId: 'a', spanId: 'b', attributes }] }] }] };
  };
  await ask(http.server.url, '/v1/traces', { body: spanOf('github-copilot', 'chat') });
  await ask(http.server.url, '/v1/traces', { body: spanOf('github-copilot', 'invoke_agent') });
  await ask(http.server.url, '/v1/traces', { body: spanOf('claude-code', 'chat') });
  expect(reports()).toEqual([{ id: 'c1', type: 'usage.reported', data: { input: 5, output: 6, model: 'm' } }]);
});

test('accepts gzipped protobuf', async () => {
  know(inProtobuf);
  const headers = { ...protobuf, 'content-encoding': 'gzip' };
  const reply = await post('/v1/logs', gzipSync(logsInProtobuf), headers);
  expect([reply.status, reply.headers.get('content-type'), (await reply.arrayBuffer()).byteLength]).toEqual([
    200,
    'application/x-protobuf',
    0,
  ]);
  expect(reports()).toMatchObject([{ id: inProtobuf, data: { input: 1, output: 1, model: 'claude-opus-5-5' } }]);
  expect((await post('/v1/metrics', read('claude-code.metrics.bin'), protobuf)).status).toBe(200);
  expect(sources()).toEqual(['logs', 'metrics']);
});

test('an unknown session is rejected with the reason, in the format of the request', async () => {
  const { status, json } = await ask(http.server.url, '/v1/logs', { body: claude.logs });
  expect(status).toBe(200);
  expect(json).toEqual({
    partialSuccess: {
      rejectedLogRecords: '2',
      errorMessage: `no worker '${session}': its hooks have not reported the session`,
    },
  });
  const reply = Buffer.from(await (await post('/v1/logs', logsInProtobuf, protobuf)).arrayBuffer());
  expect(reply.toString('latin1')).toContain(`no worker '${inProtobuf}'`);
  expect(reports()).toEqual([]);
});

test('a token can only report for its own workers', async () => {
  know(session, 's1');
  const box = {
    ...({ name: 'box', role: 'agent', workers: ['s1'], fleets: null } as const),
    hashes: [hashOfToken('key')],
  };
  const { url } = await http.open({ tokens: () => [box] });
  expect((await ask(url, '/v1/logs', { body: claude.logs })).status).toBe(401);
  const { status, json } = await ask(url, '/v1/logs', { body: claude.logs, headers: { authorization: 'Bearer key' } });
  expect([status, json]).toMatchObject([200, { partialSuccess: { rejectedLogRecords: '2' } }]);
  expect(reports()).toEqual([]);
});

test('invalid OTLP is refused, and so is a body that is too large after unzipping', async () => {
  expect((await post('/v1/logs', 'no protobuf', protobuf)).status).toBe(400);
  expect((await ask(http.server.url, '/v1/logs', { body: [] })).status).toBe(400);
  expect((await ask(http.server.url, '/v1/logs', { body: { resourceLogs: 7 } })).json).toEqual({});
  expect((await ask(http.server.url, '/v1/logs', { body: {} })).json).toEqual({});
  const gzip = { ...protobuf, 'content-encoding': 'gzip' };
  expect((await post('/v1/logs', gzipSync(Buffer.alloc(5 * 1_048_576)), gzip)).status).toBe(413);
  expect((await post('/v1/logs', 'no gzip', gzip)).status).toBe(400);
  expect((await post('/v1/logs', 'x', { ...protobuf, 'content-encoding': 'br' })).status).toBe(400);
  // Two megabytes with a million empty lists.
  const many = Buffer.alloc(1_000_000, Buffer.from([0x0a, 0x00]));
  const reply = await post('/v1/logs', many, protobuf);
  expect([reply.status, errorOf({ json: await reply.json() }).message]).toEqual([
    400,
    expect.stringContaining('fields'),
  ]);
  expect((await post('/api/main/decide/w1', logsInProtobuf, protobuf)).status).toBe(415);
});
