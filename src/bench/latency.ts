/** Latency and rate of decisions against the floor, echo request + acknowledged publish, interleaved in one run. */
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { createInbox, headers, type NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { type Figure, quantile } from './figures.ts';
import { type Operation, type Samples, sampleInTurn } from './samples.ts';

type Operations = Record<'echo' | 'publish' | 'decide' | 'fast', Operation>;

const rounds = 25;
const perRound = 150;
const warmUps = 3_000;
const rateRounds = 3;
const rateTotal = 6_000;
const atOnce = 64;
const workersCount = 1_000;
const payload = '{"output":"done"}';

export async function measureLatency(url: string, scale: number): Promise<Figure[]> {
  const nc = await connect({ servers: url });
  await (await jetstreamManager(nc)).streams.add({ name: 'BENCH', subjects: ['bench.raw'], storage: 'file' });
  const operations = createOperations(nc);
  const names = Object.keys(operations) as (keyof Operations)[];
  const took = await sampleInTurn(operations, { rounds: rounds * scale, perRound, warmUps: warmUps * scale });
  const rates: Record<keyof Operations | 'one', number[]> = { echo: [], publish: [], decide: [], fast: [], one: [] };
  const one = () => nc.request('stopgate.main.decide.solo', payload, { timeout: 10_000 });
  for (let round = 0; round < rateRounds * scale; round += 1) {
    for (const name of names) rates[name].push(await rateOf(operations[name], scale));
    rates.one.push(await rateOf(one, scale));
  }
  await nc.close();
  return [...latencyFigures(took), ...rateFigures(rates)];
}

function createOperations(nc: NatsConnection): Operations {
  const js = jetstream(nc);
  const inbox = createInbox();
  const waiting = new Map<string, (answer: unknown) => void>();
  nc.subscribe(`${inbox}.*`, {
    callback: (_error, message) => {
      const token = message.subject.slice(inbox.length + 1);
      waiting.get(token)?.(message);
      waiting.delete(token);
    },
  });
  let count = 0;
  const worker = (index: number) => `w${index % workersCount}`;
  return {
    echo: () => nc.request('bench.echo', payload, { timeout: 10_000 }),
    publish: () => js.publish('bench.raw', payload),
    decide: (index) => nc.request(`stopgate.main.decide.${worker(index)}`, payload, { timeout: 10_000 }),
    fast: (index) =>
      new Promise((resolve) => {
        count += 1;
        const attempt = `s${count}`;
        waiting.set(attempt, resolve);
        const h = headers();
        h.set('Stopgate-Reply', `${inbox}.${attempt}`);
        h.set('Nats-Msg-Id', `${worker(index)}:${attempt}`);
        nc.publish(
          `stopgate.main.worker.${worker(index)}.stop.attempted`,
          JSON.stringify({ attempt, output: 'done' }),
          { headers: h },
        );
      }),
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

function latencyFigures(took: Samples<keyof Operations>): Figure[] {
  const floor = (part: number) => quantile(took.echo, part) + quantile(took.publish, part);
  const ratio = (name: keyof Operations, part: number) => quantile(took[name], part) / floor(part);
  return [
    { name: 'floor p50 (echo + publish)', value: floor(0.5), unit: 'ms' },
    { name: 'floor p99', value: floor(0.99), unit: 'ms' },
    { name: 'decide p50', value: quantile(took.decide, 0.5), unit: 'ms' },
    { name: 'decide p50 / floor', value: ratio('decide', 0.5), unit: 'x', goal: { atMost: 1 } },
    { name: 'decide by the fast path p50 / floor', value: ratio('fast', 0.5), unit: 'x', goal: { atMost: 0.65 } },
    { name: 'decide p99 / floor p99', value: ratio('decide', 0.99), unit: 'x', goal: { atMost: 2 } },
    { name: 'decide by the fast path p99 / floor p99', value: ratio('fast', 0.99), unit: 'x', goal: { atMost: 2 } },
  ];
}

function rateFigures(rates: Record<keyof Operations | 'one', number[]>): Figure[] {
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
