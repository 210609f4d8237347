/** OpenTelemetry metrics, against a collector on loopback: those of /metrics, with the same names. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openOtlp } from '../../../src/app/otlp.ts';
import { createLogger } from '../../../src/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { type Collector, openCollector } from '../../support/collector.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { endService } from '../../support/service.ts';
import { ask } from '../http/request.ts';

let collector: Collector;
let at: Deployment | null = null;
beforeEach(async () => {
  collector = await openCollector();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await at?.close();
  at = null;
  await collector.close();
});

const start = async (env: Record<string, string>) => {
  at = await deploy({ env, args: ['--replica', 'r1'] });
  return at;
};
const kinds: Record<string, string> = { sum: 'counter', gauge: 'gauge', histogram: 'histogram' };

test('everything in /metrics is sent: names, kinds, help, labels and values', async () => {
  const { client, http, service } = await start({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_METRIC_EXPORT_INTERVAL: '100',
    OTEL_SERVICE_NAME: 'gate',
  });
  await client.ask('decide.w1');
  await client.ask('decide.w1');
  const sentValue = (name: string, cause?: string) =>
    collector.metrics.get(name)?.find(({ labels }) => labels.cause === cause)?.value;
  // Gauges that are read at a scrape are also sent while the service runs, with a new value each time.
  await expect.poll(() => sentValue('stopgate_decisions_total', 'no-policy')).toBe(2);
  await expect.poll(() => sentValue('stopgate_workers')).toBe(1);
  expect(collector.metrics.get('stopgate_ready')).toMatchObject([{ value: 1, labels: { fleet: 'main' } }]);
  const { text } = await ask(http, '/metrics');
  await endService(service);

  expect(collector.metrics.get('stopgate_decisions_total')).toContainEqual(
    expect.objectContaining({
      value: 2,
      service: 'gate',
      labels: { fleet: 'main', decision: 'allow', cause: 'no-policy' },
    }),
  );
  expect(collector.metrics.get('stopgate_decision_seconds')).toMatchObject([{ value: 2, labels: { fleet: 'main' } }]);
  const lines = [...collector.metrics].map(
    ([name, [point]]) => `# HELP ${name} ${point?.description}\n# TYPE ${name} ${kinds[point?.kind ?? '']}`,
  );
  expect(lines.length).toBeGreaterThan(8);
  for (const line of lines) expect(text).toContain(line);
});

test('a variable turns off one signal', async () => {
  const { client, service } = await start({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_TRACES_EXPORTER: 'none',
  });
  await client.ask('decide.w1');
  await endService(service);
  expect(collector.metrics.has('stopgate_decisions_total')).toBe(true); // the last ones, at the end
  expect(collector.spans).toEqual([]);
});

test.each([
  ['no collector is named', {}],
  ['they are left out', { OTEL_METRICS_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }],
])('nothing is sent if %s', async (_why, env) => {
  const { service, log } = await start(env);
  await endService(service);
  expect(log().map(({ msg }) => msg)).not.toContain('metrics are sent');
});

test('an invalid interval is refused', async () => {
  const env = { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: collector.url, OTEL_METRIC_EXPORT_INTERVAL: '60s' };
  await expect(start(env)).rejects.toThrow(/OTEL_METRIC_EXPORT_INTERVAL '60s' is not a whole number of milliseconds/);
});

test.each(['nonsense', '127.0.0.1:4318', 'localhost:4318'])(
  'an address of a collector that is none is refused: %s',
  async (given) => {
    const refusal = `OTEL_EXPORTER_OTLP_ENDPOINT '${given}' is not the address of a collector, such as http://127.0.0.1:4318`;
    await expect(start({ OTEL_EXPORTER_OTLP_ENDPOINT: given })).rejects.toThrow(refusal);
  },
);

test('a refusing collector is reported once, and once more when it accepts again', async () => {
  const refusing = await openCollector({ refuses: true });
  try {
    const { log } = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: refusing.url,
      OTEL_METRIC_EXPORT_INTERVAL: '50',
      OTEL_TRACES_EXPORTER: 'none',
    });
    const told = () =>
      log().flatMap(({ level, msg }) => (/the collector/.test(String(msg)) ? [`${level}: ${msg}`] : []));
    const lost = 'warn: the collector does not accept metrics; they are lost';
    await expect.poll(told).toEqual([lost]);
    refusing.accept();
    await expect.poll(told).toEqual([lost, 'info: the collector accepts metrics again']);
  } finally {
    await refusing.close();
  }
});

test('an unsupported exporter, protocol or sampler is reported at the start', async () => {
  vi.stubEnv('OTEL_TRACES_SAMPLER', 'foo'); // the SDK reads it from the process
  const { log } = await start({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_TRACES_EXPORTER: 'zipkin',
    OTEL_METRICS_EXPORTER: 'otlp',
  });
  const told = log().filter(({ level, msg }) => level === 'warn' && /can only|SDK/.test(String(msg)));
  expect(told).toMatchObject([
    { msg: 'traces can only be sent by OTLP', OTEL_TRACES_EXPORTER: 'zipkin' },
    { msg: 'traces can only be sent over HTTP', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    { msg: 'warning of the OpenTelemetry SDK', text: expect.stringContaining('"foo" invalid') },
    { msg: 'metrics can only be sent over HTTP', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    { msg: 'logs can only be sent over HTTP', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
  ]);
});

test('each series of a thousand fleets is sent, and the log names the collector without its key', async () => {
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line: string) => void lines.push(line) });
  const env = { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${collector.url}/v1/metrics?key=secret` };
  const otlp = await openOtlp(env, { replica: 'r1', version: '0.0.0' }, logger);
  const { deadLetters } = createMetrics();
  for (let fleet = 0; fleet < 1_000; fleet += 1)
    for (const code of ['a', 'b', 'c', 'd', 'e']) deadLetters.inc({ fleet: `f${fleet}`, code });
  await otlp?.close();
  expect(collector.metrics.get('stopgate_dead_letters_total')).toHaveLength(5_000);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ msg: 'metrics are sent', collector: collector.url });
});
