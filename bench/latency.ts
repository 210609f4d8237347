/**
 * Latency, CPU and rate of decisions compared with the floor (an echo request and an acknowledged publish) and the bare
 * path (the same bytes and entries without a fold), interleaved in one run.
 */
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { type CpuMeter, createCpuMeter } from './cpu.ts';
import { createFastPath } from './fast-path.ts';
import { type Figure, figure, quantile } from './figures.ts';
import { type Operation, runAtOnce, type Samples, sampleInTurn } from './samples.ts';
import type { ScenePids } from './scene.ts';

type Name = 'echo' | 'publish' | 'bare' | 'bareFast' | 'decide' | 'fast';
type Operations = Readonly<Record<Name, Operation>>;

const rounds = 25;
const perRound = 150;
/** V8 needs this long to compile: after 3,000, a decision takes a third more CPU. `--quick` uses a hundredth. */
const warmUps = 20_000;
const rateRounds = 3;
const rateTotal = 6_000;
const workersCount = 1_000;
const payload = '{"output":"done"}';

export async function measureLatency(url: string, scale: number, _http: string, pids: ScenePids): Promise<Figure[]> {
  const nc = await connect({ servers: url });
  await (await jetstreamManager(nc)).streams.add({ name: 'BENCH', subjects: ['bench.raw'], storage: 'file' });
  const decision = await nc.request('stopgate.main.decide.w0', payload, { timeout: 10_000 });
  await nc.request('bench.bare.open', decision.data, { timeout: 10_000 });
  const operations = createOperations(nc);
  const sampling = { rounds: Math.ceil(rounds * scale), perRound, warmUps: warmUps * scale ** 2 };
  const cpu = createCpuMeter<Name>(pids);
  const took = await sampleInTurn(operations, sampling, cpu.atTurn);
  const { echo, publish, decide, fast } = operations;
  const rated = { echo, publish, decide, fast, one: () => nc.request(onOne, payload, { timeout: 10_000 }) };
  const rates: Record<keyof typeof rated, number[]> = { echo: [], publish: [], decide: [], fast: [], one: [] };
  for (let round = 0; round < rateRounds * scale; round += 1)
    for (const name of Object.keys(rates) as (keyof typeof rates)[]) rates[name].push(await rateOf(rated[name], scale));
  await nc.close();
  return [...latencyFigures(took), ...cpuFigures(cpu, sampling.rounds * perRound), ...rateFigures(rates)];
}

const onOne = 'stopgate.main.decide.solo';

function createOperations(nc: NatsConnection): Operations {
  const js = jetstream(nc);
  const publishFast = createFastPath(nc);
  const worker = (index: number) => `w${index % workersCount}`;
  const request = (subject: string) => nc.request(subject, payload, { timeout: 10_000 });
  return {
    echo: () => request('bench.echo'),
    publish: () => js.publish('bench.raw', payload),
    bare: (index) => request(`bench.bare.decide.${worker(index)}`),
    bareFast: (index) => publishFast(`bench.bare.log.${worker(index)}`, worker(index)),
    decide: (index) => request(`stopgate.main.decide.${worker(index)}`),
    fast: (index) => publishFast(`stopgate.main.worker.${worker(index)}.stop.attempted`, worker(index)),
  };
}

async function rateOf(operation: Operation, scale: number): Promise<number> {
  const total = rateTotal * scale;
  const started = performance.now();
  await runAtOnce(total, operation);
  return (total / (performance.now() - started)) * 1_000;
}

function latencyFigures(took: Samples<Name>): Figure[] {
  const p50 = (name: Name) => quantile(took[name], 0.5);
  const floor = (part: number) => quantile(took.echo, part) + quantile(took.publish, part);
  const ratio = (name: Name, part: number) => quantile(took[name], part) / floor(part);
  return [
    figure('floor p50 (echo + publish)', floor(0.5), 'ms'),
    figure('floor p99', floor(0.99), 'ms'),
    figure('bare path p50 / floor', ratio('bare', 0.5), 'x'),
    figure('bare fast path p50 / floor', ratio('bareFast', 0.5), 'x'),
    figure('decide p50', p50('decide'), 'ms'),
    figure('decide p50 / floor', ratio('decide', 0.5), 'x'),
    figure('decide by the fast path p50 / floor', ratio('fast', 0.5), 'x'),
    figure('decide p50 / bare path', p50('decide') / p50('bare'), 'x', { atMost: 1.25 }),
    figure('decide by the fast path p50 / bare fast path', p50('fast') / p50('bareFast'), 'x', { atMost: 1.25 }),
    figure('decide p99 / floor p99', ratio('decide', 0.99), 'x', { atMost: 2 }),
    figure('decide by the fast path p99 / floor p99', ratio('fast', 0.99), 'x', { atMost: 2 }),
  ];
}

/** One decision at a time: concurrent ones would share costs. */
function cpuFigures(cpu: CpuMeter<Name>, samples: number): Figure[] {
  const of = (name: Name, process: keyof ScenePids) => cpu.perSample(name, process, samples);
  return [
    figure('CPU of a decision, service', of('decide', 'service'), 'us', { atMost: 200 }),
    figure('CPU of a decision, nats-server', of('decide', 'server'), 'us'),
    figure('CPU by the fast path, service', of('fast', 'service'), 'us', { atMost: 140 }),
    figure('CPU by the fast path, nats-server', of('fast', 'server'), 'us'),
    figure('CPU of the bare path', of('bare', 'echo'), 'us'),
    figure('CPU of a decision, service / bare path', of('decide', 'service') / of('bare', 'echo'), 'x'),
    figure('CPU by the fast path, service / bare fast path', of('fast', 'service') / of('bareFast', 'echo'), 'x'),
    figure('CPU of the bare path, nats-server', of('bare', 'server'), 'us'),
    figure('CPU of the bare fast path', of('bareFast', 'echo'), 'us'),
    figure('CPU of the bare fast path, nats-server', of('bareFast', 'server'), 'us'),
  ];
}

function rateFigures(rates: Readonly<Record<'echo' | 'publish' | 'decide' | 'fast' | 'one', number[]>>): Figure[] {
  const median = (name: keyof typeof rates) => quantile(rates[name], 0.5);
  const floor = 1 / (1 / median('echo') + 1 / median('publish'));
  return [
    figure('floor rate, 64 at once', floor, '/s'),
    figure('decide rate, 64 at once over 1,000 workers', median('decide'), '/s'),
    figure('decide rate, 64 at once over 1,000 workers / floor', median('decide') / floor, 'x', { atLeast: 1 }),
    figure('decide rate, 64 at once on one worker / floor', median('one') / floor, 'x', { atLeast: 1 }),
    figure('fast path rate, 64 at once / floor', median('fast') / floor, 'x', { atLeast: 1 }),
  ];
}
