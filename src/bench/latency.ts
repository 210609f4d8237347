/**
 * Latency, CPU and rate of decisions against the floor (echo request + acknowledged publish) and the bare path (the same
 * bytes and entries without a fold), interleaved in one run.
 */
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { type CpuMeter, createCpuMeter } from './cpu.ts';
import { createFastPath } from './fast-path.ts';
import { type Figure, quantile } from './figures.ts';
import { type Operation, type Samples, sampleInTurn } from './samples.ts';
import type { ScenePids } from './scene.ts';

type Name = 'echo' | 'publish' | 'bare' | 'bareFast' | 'decide' | 'fast';
type Operations = Readonly<Record<Name, Operation>>;

const rounds = 25;
const perRound = 150;
/** V8 compiles for so long: after 3,000 a decision takes a third more CPU. Of `--quick` a hundredth is enough. */
const warmUps = 20_000;
const rateRounds = 3;
const rateTotal = 6_000;
const atOnce = 64;
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
  const took = await sampleInTurn(operations, sampling, cpu.beside);
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
  let next = 0;
  const started = performance.now();
  const repeat = async () => {
    while (next < total) {
      next += 1;
      await operation(next);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, repeat));
  return (total / (performance.now() - started)) * 1_000;
}

function latencyFigures(took: Samples<Name>): Figure[] {
  const p50 = (name: Name) => quantile(took[name], 0.5);
  const floor = (part: number) => quantile(took.echo, part) + quantile(took.publish, part);
  const ratio = (name: Name, part: number) => quantile(took[name], part) / floor(part);
  return [
    { name: 'floor p50 (echo + publish)', value: floor(0.5), unit: 'ms' },
    { name: 'floor p99', value: floor(0.99), unit: 'ms' },
    { name: 'bare path p50 / floor', value: ratio('bare', 0.5), unit: 'x' },
    { name: 'bare fast path p50 / floor', value: ratio('bareFast', 0.5), unit: 'x' },
    { name: 'decide p50', value: p50('decide'), unit: 'ms' },
    { name: 'decide p50 / floor', value: ratio('decide', 0.5), unit: 'x', goal: { atMost: 1.15 } },
    { name: 'decide by the fast path p50 / floor', value: ratio('fast', 0.5), unit: 'x', goal: { atMost: 0.7 } },
    { name: 'decide p50 / bare path', value: p50('decide') / p50('bare'), unit: 'x', goal: { atMost: 1.25 } },
    {
      name: 'decide by the fast path p50 / bare fast path',
      value: p50('fast') / p50('bareFast'),
      unit: 'x',
      goal: { atMost: 1.25 },
    },
    { name: 'decide p99 / floor p99', value: ratio('decide', 0.99), unit: 'x', goal: { atMost: 2 } },
    { name: 'decide by the fast path p99 / floor p99', value: ratio('fast', 0.99), unit: 'x', goal: { atMost: 2 } },
  ];
}

/** One decision at a time: with many at once, what they share is shared by all. */
function cpuFigures(cpu: CpuMeter<Name>, samples: number): Figure[] {
  const of = (name: Name, process: keyof ScenePids) => cpu.perSample(name, process, samples);
  return [
    { name: 'CPU of a decision, service', value: of('decide', 'service'), unit: 'us', goal: { atMost: 110 } },
    { name: 'CPU of a decision, nats-server', value: of('decide', 'server'), unit: 'us' },
    { name: 'CPU by the fast path, service', value: of('fast', 'service'), unit: 'us', goal: { atMost: 85 } },
    { name: 'CPU by the fast path, nats-server', value: of('fast', 'server'), unit: 'us' },
    { name: 'CPU of the bare path', value: of('bare', 'echo'), unit: 'us' },
    { name: 'CPU of the bare path, nats-server', value: of('bare', 'server'), unit: 'us' },
    { name: 'CPU of the bare fast path', value: of('bareFast', 'echo'), unit: 'us' },
    { name: 'CPU of the bare fast path, nats-server', value: of('bareFast', 'server'), unit: 'us' },
  ];
}

function rateFigures(rates: Readonly<Record<'echo' | 'publish' | 'decide' | 'fast' | 'one', number[]>>): Figure[] {
  const median = (name: keyof typeof rates) => quantile(rates[name], 0.5);
  const floor = 1 / (1 / median('echo') + 1 / median('publish'));
  return [
    { name: 'floor rate, 64 at once', value: floor, unit: '/s' },
    { name: 'decide rate, 64 at once over 1,000 workers', value: median('decide'), unit: '/s' },
    {
      name: 'decide rate, 64 at once over 1,000 workers / floor',
      value: median('decide') / floor,
      unit: 'x',
      goal: { atLeast: 1 },
    },
    {
      name: 'decide rate, 64 at once on one worker / floor',
      value: median('one') / floor,
      unit: 'x',
      goal: { atLeast: 1 },
    },
    { name: 'fast path rate, 64 at once / floor', value: median('fast') / floor, unit: 'x', goal: { atLeast: 1 } },
  ];
}
