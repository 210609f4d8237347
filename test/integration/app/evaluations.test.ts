/** The result of each check as an event `gen_ai.evaluation.result`, against an OTLP collector on loopback. */
import { headers } from '@nats-io/nats-core';
import { expect, onTestFinished, test } from 'vitest';
import { openCollector } from '../../support/collector.ts';
import { deploy } from '../../support/deployment.ts';
import { endService } from '../../support/service.ts';

const trace = '4'.repeat(32);
const failures = 'all';
const config = JSON.stringify({
  policies: {
    default: {
      failures,
      checks: [
        { plan: {} },
        { ran: 'npm test' },
        { rules: ['style'], when: { filesModified: true } },
        { command: 'judge' },
        { remote: 'nobody' },
      ],
    },
  },
  commands: {
    judge: { run: ['echo', '{"complete":false,"reason":"No example in the README"}'], cwd: '.', speaks: 'json' },
  },
});

async function openService(env: (url: string) => Record<string, string>) {
  const collector = await openCollector();
  onTestFinished(collector.close);
  const at = await deploy({ config, env: env(collector.url) });
  onTestFinished(at.close);
  return { at, collector };
}

test('each check of a decision is an event in the trace of its attempt', async () => {
  const { at, collector } = await openService((url) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url }));
  const { nc } = at.client;
  await at.client.publish('worker.w1.worker.registered', { agent: 'claude' });
  await at.client.publish('worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'done' }] });
  const h = headers();
  h.set('traceparent', `00-${trace}-b7ad6b7169203331-01`);
  await nc.request('stopgate.main.decide.w1', '{"attempt":"a1"}', { timeout: 30_000, headers: h });
  await endService(at.service);

  const named = new Map(collector.events.map((event) => [event.attributes['gen_ai.evaluation.name'], event]));
  expect([...named.keys()].sort()).toEqual(['judge', 'nobody', 'plan', 'ran']);
  expect(collector.events).toHaveLength(4);
  for (const event of collector.events) {
    expect(event).toMatchObject({
      name: 'gen_ai.evaluation.result',
      traceId: trace,
      attributes: {
        'gen_ai.agent.id': 'w1',
        'gen_ai.agent.name': 'claude',
        'gen_ai.conversation.id': 'w1',
        'stopgate.fleet': 'main',
        'stopgate.worker': 'w1',
        'stopgate.attempt': 'a1',
      },
    });
  }
  const scoreOf = (name: string) => {
    const attributes = named.get(name)?.attributes ?? {};
    const value = attributes['gen_ai.evaluation.score.value'];
    return [value === undefined ? undefined : Number(value), attributes['gen_ai.evaluation.score.label']];
  };
  expect(scoreOf('plan')).toEqual([1, 'pass']);
  expect(scoreOf('ran')).toEqual([0, 'fail']);
  expect(named.get('ran')?.attributes).toMatchObject({ 'gen_ai.evaluation.explanation': 'npm test has not run' });
  expect(scoreOf('judge')).toEqual([0, 'fail']);
  expect(named.get('judge')?.attributes).toMatchObject({
    'gen_ai.evaluation.explanation': 'No example in the README',
  });
  // Nothing was judged: no score.
  expect(scoreOf('nobody')).toEqual([undefined, undefined]);
  expect(named.get('nobody')?.attributes).toMatchObject({ 'error.type': 'error' });
});

test('a probe is no event, and OTEL_LOGS_EXPORTER=none turns events off', async () => {
  const { at, collector } = await openService((url) => ({
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_LOGS_EXPORTER: 'none',
  }));
  await at.client.ask('decide.w1', { attempt: 'a1' });
  await endService(at.service);
  expect(collector.events).toEqual([]);
  expect(collector.spans).not.toEqual([]);

  const other = await openService((url) => ({ OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: `${url}/v1/logs` }));
  await other.at.client.ask('probe.w1', { attempt: 'a1' });
  await other.at.client.ask('verify.w1');
  await endService(other.at.service);
  expect(other.collector.events).toEqual([]);
  expect(other.collector.spans).toEqual([]);
});
