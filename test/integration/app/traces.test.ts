/** Traces of attempts, against an OTLP collector on loopback: from every edge to the decision and its guards. */
import { headers } from '@nats-io/nats-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { attemptMessageId } from '../../../machines/index.ts';
import { type Collector, openCollector, type Span } from '../../support/collector.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { endService } from '../../support/service.ts';
import { ask } from '../http/request.ts';

const config = 'policies: { default: { checks: [{ remote: review }] }, unserved: { checks: [{ remote: nobody }] } }\n';
const callerSpan = 'b7ad6b7169203331';
/** Each edge has a separate trace. */
const traces = { request: '1'.repeat(32), entry: '2'.repeat(32), hook: '3'.repeat(32) };
const traceparentOf = (trace: string) => `00-${trace}-${callerSpan}-01`;

let collector: Collector;
const start = (env: Record<string, string> = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }) =>
  deploy({ config, env, args: ['--replica', 'r1', '--log-level', 'debug'] });
/** A remote check that keeps the trace of its request. */
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
const traced = (trace: string) => {
  const h = headers();
  h.set('traceparent', traceparentOf(trace));
  return h;
};
const lastAttemptOf = ({ client }: Deployment, worker: string) =>
  client.manager.streams.getMessage('STOPGATE_main', {
    last_by_subj: `stopgate.main.worker.${worker}.stop.attempted`,
  });

beforeAll(async () => {
  collector = await openCollector();
});
afterAll(() => collector.close());

describe('a service records', () => {
  let at: Deployment;
  let asked: readonly string[];
  let verdicts: readonly { readonly guard: string; readonly verdict: string }[];
  let storedByHook: Awaited<ReturnType<typeof lastAttemptOf>>;
  const named = (name: string, trace?: string): readonly Span[] =>
    collector.spans.filter((span) => span.name === name && (trace === undefined || span.traceId === trace));

  beforeAll(async () => {
    at = await start();
    asked = serveReview(at);
    const { nc, ask: askOf } = at.client;
    const put = (tail: string, data: object) => nc.request(`stopgate.main.worker.${tail}`, JSON.stringify(data));

    const byRequest = { timeout: 30_000, headers: traced(traces.request) };
    ({ verdicts } = (await nc.request('stopgate.main.decide.w1', '{"attempt":"a1"}', byRequest)).json<{
      verdicts: typeof verdicts;
    }>());

    await put('w7.worker.registered', { agent: 'claude' });
    await put('w7.usage.reported', { input: 10, cacheRead: 5, output: 3, usd: 0.5, model: 'm-1' });
    await askOf('decide.w7', { attempt: 'a1' });

    await put('w2.worker.registered', {});
    const answer = new Promise<void>((done) => nc.subscribe('_INBOX.mine', { max: 1, callback: () => done() }));
    const h = traced(traces.entry);
    h.set('Stopgate-Reply', '_INBOX.mine');
    h.set('Nats-Msg-Id', attemptMessageId('w2', 'a1'));
    nc.publish('stopgate.main.worker.w2.stop.attempted', '{"attempt":"a1"}', { headers: h });
    await answer;

    const body = { hook_event_name: 'Stop', session_id: 's1' };
    await ask(at.http, '/hooks/claude', { body, headers: { traceparent: traceparentOf(traces.hook) } });
    storedByHook = await lastAttemptOf(at, 's1');

    await put('w3.worker.registered', { policy: 'unserved' });
    await askOf('decide.w3');
    await endService(at.service);
  });
  afterAll(() => at.close());

  test('the trace of a request continues: attempt, check, decision, each guard', () => {
    const [attempt] = named('stopgate.attempt', traces.request);
    expect(attempt).toMatchObject({
      parentSpanId: callerSpan,
      service: 'stopgate',
      attributes: {
        'stopgate.fleet': 'main',
        'stopgate.worker': 'w1',
        'stopgate.attempt': 'a1',
        'stopgate.replica': 'r1',
        'stopgate.decision': 'allow',
        'stopgate.cause': 'complete',
      },
    });
    const [check] = named('stopgate.check review', traces.request);
    expect(check).toMatchObject({ parentSpanId: attempt?.spanId, attributes: { 'stopgate.outcome': 'pass' } });
    expect(asked).toContain(`00-${traces.request}-${check?.spanId}-01`);
    const [decision] = named('stopgate.decision', traces.request);
    expect(decision).toMatchObject({ parentSpanId: attempt?.spanId });
    const guards = collector.spans.filter(({ parentSpanId }) => parentSpanId === decision?.spanId);
    expect(guards.map(({ attributes }) => [attributes['stopgate.guard'], attributes['stopgate.verdict']])).toEqual(
      verdicts.map(({ guard, verdict }) => [guard, verdict]),
    );
    expect(at.log()).toContainEqual(
      expect.objectContaining({ msg: 'stop allowed', attempt: 'a1', traceId: traces.request }),
    );
  });

  test('a usage report is a span by the GenAI conventions, which its attempts follow, too', () => {
    const agent = { 'gen_ai.agent.id': 'w7', 'gen_ai.agent.name': 'claude', 'gen_ai.conversation.id': 'w7' };
    const attempt = named('stopgate.attempt').find(({ attributes }) => attributes['stopgate.worker'] === 'w7');
    expect(attempt).toMatchObject({ attributes: agent });
    const used = named('stopgate.usage');
    expect(used).toHaveLength(1);
    expect(used[0]?.attributes).toMatchObject({ ...agent, 'gen_ai.request.model': 'm-1' });
    expect(Number(used[0]?.attributes['gen_ai.usage.input_tokens'])).toBe(15);
    expect(Number(used[0]?.attributes['gen_ai.usage.output_tokens'])).toBe(3);
  });

  test('an attempt that its agent publishes names its trace in a header', () => {
    const [attempt] = named('stopgate.attempt', traces.entry);
    expect(attempt?.attributes).toMatchObject({ 'stopgate.attempt': 'a1', 'stopgate.cause': 'complete' });
  });

  test('the trace of an HTTP hook continues, and its entry carries it', () => {
    const [attempt] = named('stopgate.attempt', traces.hook);
    expect(attempt?.attributes).toMatchObject({ 'stopgate.worker': 's1' });
    expect(storedByHook?.header.get('traceparent')).toBe(`00-${traces.hook}-${attempt?.spanId}-01`);
  });

  test('the span of a check that cannot be called has an error', () => {
    const [check] = named('stopgate.check nobody');
    expect(check).toMatchObject({ status: 2, attributes: { 'stopgate.outcome': 'error' } });
  });
});

test.each([
  ['no collector is named', {}],
  ['the SDK is switched off', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'true' }],
])('nothing is recorded or passed on if %s', async (_why, env) => {
  const before = collector.spans.length;
  const deployment = await start(env);
  onTestFinished(() => deployment.close());
  const asked = serveReview(deployment);
  const byRequest = { headers: traced(traces.request), timeout: 30_000 };
  await deployment.client.nc.request('stopgate.main.decide.w1', '{"attempt":"a1"}', byRequest);
  const stored = await lastAttemptOf(deployment, 'w1');
  expect({ asked, header: stored?.header.get('traceparent') }).toEqual({ asked: [''], header: '' });
  await endService(deployment.service);
  expect(collector.spans).toHaveLength(before);
});

test('a missing collector delays neither decisions nor the end', async () => {
  const deployment = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' });
  onTestFinished(() => deployment.close());
  serveReview(deployment);
  expect((await deployment.client.ask('decide.w1')).body).toMatchObject({ decision: 'allow', cause: 'complete' });
  await endService(deployment.service);
  const told = deployment.log().filter(({ msg }) => msg === 'the collector does not accept traces; they are lost');
  expect(told).toHaveLength(1);
});
