/** Traces of attempts, against a collector on loopback that takes OTLP: from any way in to the decision and its guards. */
import { headers } from '@nats-io/nats-core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { attemptMessageId } from '../../../machines/index.ts';
import { type Collector, openCollector, type Span } from '../../support/collector.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { endService } from '../../support/service.ts';
import { ask } from '../http/request.ts';

const config = 'policies: { default: { checks: [{ remote: review }] } }\n';
const traceId = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;

let collector: Collector;
let at: Deployment | null = null;
beforeEach(async () => {
  collector = await openCollector();
});
afterEach(async () => {
  await at?.close();
  at = null;
  await collector.close();
});

const start = async (env: Record<string, string> = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }) => {
  at = await deploy({ config, env, args: ['--replica', 'r1', '--log-level', 'debug'] });
  return at;
};
/** A remote check that keeps the trace it was asked in. */
function serveReview({ client }: Deployment): string[] {
  const asked: string[] = [];
  client.nc.subscribe('stopgate.main.check.review', {
    callback: (_error, message) => {
      asked.push(message.headers?.get('traceparent') ?? '');
      message.respond('{"complete":true}');
    },
  });
  return asked;
}
const traced = () => {
  const h = headers();
  h.set('traceparent', traceparent);
  return h;
};
/** What was recorded until the service ended. */
async function recorded({ service }: Deployment): Promise<Span[]> {
  await endService(service);
  return collector.spans;
}
const named = (spans: readonly Span[], name: string) => spans.filter((span) => span.name === name);

test('a request that names its trace goes on in it: attempt, check, decision, each guard', async () => {
  const deployment = await start();
  const asked = serveReview(deployment);
  const { nc } = deployment.client;
  const reply = await nc.request('stopgate.main.decide.w1', '{"attempt":"a1"}', { timeout: 30_000, headers: traced() });
  const { verdicts } = reply.json<{ verdicts: { guard: string; verdict: string }[] }>();
  const spans = await recorded(deployment);

  const [attempt] = named(spans, 'stopgate.attempt');
  expect(attempt).toMatchObject({
    ...{ traceId, parentSpanId: 'b7ad6b7169203331', service: 'stopgate' },
    attributes: {
      ...{ 'stopgate.fleet': 'main', 'stopgate.worker': 'w1', 'stopgate.attempt': 'a1', 'stopgate.replica': 'r1' },
      ...{ 'stopgate.decision': 'allow', 'stopgate.cause': 'complete' },
    },
  });
  const [check] = named(spans, 'stopgate.check review');
  expect(check).toMatchObject({ traceId, parentSpanId: attempt?.spanId, attributes: { 'stopgate.outcome': 'pass' } });
  expect(asked).toEqual([`00-${traceId}-${check?.spanId}-01`]);
  const [decision] = named(spans, 'stopgate.decision');
  expect(decision).toMatchObject({ traceId, parentSpanId: attempt?.spanId });
  const guards = spans.filter(({ parentSpanId }) => parentSpanId === decision?.spanId);
  expect(guards.map(({ attributes }) => [attributes['stopgate.guard'], attributes['stopgate.verdict']])).toEqual(
    verdicts.map(({ guard, verdict }) => [guard, verdict]),
  );
  expect(deployment.log()).toContainEqual(expect.objectContaining({ msg: 'stop allowed', attempt: 'a1', traceId }));
});

test('what an agent reports is a span by the GenAI conventions, and its attempts have them too', async () => {
  const deployment = await start();
  const { nc } = deployment.client;
  const put = (tail: string, data: object) => nc.request(`stopgate.main.worker.${tail}`, JSON.stringify(data));
  await put('w7.worker.registered', { agent: 'claude' });
  await put('w7.usage.reported', { input: 10, cacheRead: 5, output: 3, usd: 0.5, model: 'm-1' });
  await nc.request('stopgate.main.decide.w7', '{"attempt":"a1"}', { timeout: 30_000 });
  const spans = await recorded(deployment);
  const agent = { 'gen_ai.agent.id': 'w7', 'gen_ai.agent.name': 'claude', 'gen_ai.conversation.id': 'w7' };
  expect(named(spans, 'stopgate.attempt')[0]).toMatchObject({ attributes: agent });
  const used = named(spans, 'stopgate.usage');
  expect(used).toHaveLength(1);
  expect(used[0]?.attributes).toMatchObject({ ...agent, 'gen_ai.request.model': 'm-1' });
  expect(Number(used[0]?.attributes['gen_ai.usage.input_tokens'])).toBe(15);
  expect(Number(used[0]?.attributes['gen_ai.usage.output_tokens'])).toBe(3);
});

test('an attempt that its agent puts into the log itself names its trace there', async () => {
  const deployment = await start();
  serveReview(deployment);
  const { nc, publish } = deployment.client;
  await publish('worker.w1.worker.registered');
  const answer = new Promise<void>((done) => nc.subscribe('_INBOX.mine', { max: 1, callback: () => done() }));
  const h = traced();
  h.set('Stopgate-Reply', '_INBOX.mine');
  h.set('Nats-Msg-Id', attemptMessageId('w1', 'a1'));
  nc.publish('stopgate.main.worker.w1.stop.attempted', '{"attempt":"a1"}', { headers: h });
  await answer;
  const [attempt] = named(await recorded(deployment), 'stopgate.attempt');
  expect(attempt).toMatchObject({ traceId, attributes: { 'stopgate.attempt': 'a1', 'stopgate.cause': 'complete' } });
});

test('a hook over HTTP goes on in its trace, and the entry that it makes carries it', async () => {
  const deployment = await start();
  serveReview(deployment);
  const body = { hook_event_name: 'Stop', session_id: 's1' };
  await ask(deployment.http, '/hooks/claude', { body, headers: { traceparent } });
  const stored = await deployment.client.manager.streams.getMessage('STOPGATE_main', {
    last_by_subj: 'stopgate.main.worker.s1.stop.attempted',
  });
  const [attempt] = named(await recorded(deployment), 'stopgate.attempt');
  expect(attempt).toMatchObject({ traceId, attributes: { 'stopgate.worker': 's1' } });
  expect(stored?.header.get('traceparent')).toBe(`00-${traceId}-${attempt?.spanId}-01`);
});

test('a check that cannot be called is an error of its span', async () => {
  const deployment = await start();
  await deployment.client.ask('decide.w1');
  const [check] = named(await recorded(deployment), 'stopgate.check review');
  expect(check).toMatchObject({ status: 2, attributes: { 'stopgate.outcome': 'error' } });
});

test.each([
  ['no collector is named', {}],
  ['the SDK is switched off', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'true' }],
])('nothing is recorded or passed on where %s', async (_why, env) => {
  const deployment = await start(env);
  const asked = serveReview(deployment);
  const { nc, manager } = deployment.client;
  await nc.request('stopgate.main.decide.w1', '{"attempt":"a1"}', { headers: traced(), timeout: 30_000 });
  const stored = await manager.streams.getMessage('STOPGATE_main', {
    last_by_subj: 'stopgate.main.worker.w1.stop.attempted',
  });
  expect({ asked, header: stored?.header.get('traceparent') }).toEqual({ asked: [''], header: '' });
  expect(await recorded(deployment)).toEqual([]);
});

test('a collector that is not there costs no decision, and not the end either', async () => {
  const deployment = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' });
  serveReview(deployment);
  expect((await deployment.client.ask('decide.w1')).body).toMatchObject({ decision: 'allow', cause: 'complete' });
  await endService(deployment.service);
  const told = deployment.log().filter(({ msg }) => msg === 'the collector does not accept traces; they are lost');
  expect(told).toHaveLength(1);
});
