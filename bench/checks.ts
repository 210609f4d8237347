/** The cost of checks: one that another process answers, against an echo in the same run; and ten local task hooks. */
import { jetstream } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { type Figure, figure, quantile } from './figures.ts';
import { type Operation, sampleInTurn } from './samples.ts';

type Name = 'echo' | 'plain' | 'remote' | 'blocked' | 'hooked';

const rounds = 40;
const perRound = 50;
/** The number of rounds is that of `latency`. Shared code is only warm by then if this part runs alone. */
const warmUps = 5_000;
const hooksCount = 10;
const payload = '{"output":"not done"}';

export async function measureChecks(url: string, scale: number): Promise<Figure[]> {
  const nc = await connect({ servers: url });
  await prepare(nc);
  const request = (name: Name) => {
    const subject = name === 'echo' ? 'bench.echo' : `stopgate.main.decide.check-${name}`;
    return nc.request(subject, payload, { timeout: 10_000 });
  };
  await expectCauses(request);
  const operations: Readonly<Record<Name, Operation>> = {
    echo: () => request('echo'),
    plain: () => request('plain'),
    remote: () => request('remote'),
    blocked: () => request('blocked'),
    hooked: () => request('hooked'),
  };
  const took = await sampleInTurn(operations, { rounds: rounds * scale, perRound, warmUps: warmUps * scale ** 2 });
  await nc.close();
  const p50 = (name: Name) => quantile(took[name], 0.5);
  const added = p50('remote') - p50('plain');
  return [
    figure('echo p50, beside checks', p50('echo'), 'ms'),
    figure('a remote check adds, p50', added, 'ms'),
    figure('a remote check adds / echo', added / p50('echo'), 'x'),
    figure(`decide over ${hooksCount} hooks / over none, p50`, p50('hooked') / p50('blocked'), 'x', { atMost: 1.2 }),
  ];
}

/**
 * Prepares two workers to compare, with and without hooks. Both hold a task and are blocked, so they write the same
 * entries.
 */
async function prepare(nc: NatsConnection): Promise<void> {
  const js = jetstream(nc);
  const put = (tail: string, data: object) => js.publish(`stopgate.main.${tail}`, JSON.stringify(data));
  await put('worker.check-plain.worker.registered', { policy: 'plain' });
  await put('worker.check-remote.worker.registered', { policy: 'remote' });
  for (const name of ['blocked', 'hooked']) await put(`worker.check-${name}.task.claimed`, { task: `bench-${name}` });
  await put('worker.check-blocked.step.updated', { step: '1', title: 'Write tests' });
  for (let index = 0; index < hooksCount; index += 1)
    await put('task.bench-hooked.hook.registered', { type: index % 2 === 0 ? 'promise' : 'default' });
}

/** Verifies the causes: with other decisions the figures would be meaningless. */
async function expectCauses(request: (name: Name) => Promise<{ json<T>(): T }>): Promise<void> {
  const expected = { plain: 'no-policy', remote: 'complete', blocked: 'incomplete', hooked: 'incomplete' };
  for (const [name, cause] of Object.entries(expected)) {
    const found = (await request(name as Name)).json<{ cause: string; reason: string }>();
    if (found.cause !== cause) throw new Error(`the bench expected ${cause} of ${name}: ${JSON.stringify(found)}`);
  }
}
