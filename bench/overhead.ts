/** The cost that logging and an open page add to a decision: compares a plain, a logging and a watched service. */
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from '@nats-io/transport-node';
import { type Figure, figure, quantile } from './figures.ts';
import { cpuUsOf } from './process-cpu.ts';
import { sampleInTurn } from './samples.ts';
import { startServiceProcess } from './service-process.ts';

type Name = 'plain' | 'logged' | 'watched';
const names: readonly Name[] = ['plain', 'logged', 'watched'];

const rounds = 60;
const perRound = 50;
/** V8 optimises the code for rows of a page only after about 5,000 rows. Until then, each costs twice as much. */
const warmUps = 10_000;
const workersCount = 1_000;
/** Time for work that the last decisions leave behind, such as events for the page. */
const restMs = 150;

export async function measureOverhead(url: string, scale: number): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'stopgate-bench-'));
  const log = openSync(join(folder, 'log'), 'w');
  const start = (name: Name) =>
    startServiceProcess({
      url,
      cwd: folder,
      args: ['--fleet', `bench-${name}`],
      ...(name === 'logged' ? { logLevel: 'info', log } : {}),
    });
  const services = { plain: start('plain'), logged: start('logged'), watched: start('watched') };
  const nc = await connect({ servers: url });
  const reader = new AbortController();
  try {
    for (const name of names) await services[name].ready;
    await openPage(await services.watched.ready, reader.signal);
    const decide = (name: Name) => (index: number) =>
      nc.request(`stopgate.bench-${name}.decide.w${index % workersCount}`, '{"output":"done"}', { timeout: 30_000 });
    const operations = { plain: decide('plain'), logged: decide('logged'), watched: decide('watched') };
    const cpuUs = { plain: [] as number[], logged: [] as number[], watched: [] as number[] };
    let beforeUs = 0;
    const sampling = { rounds: Math.ceil(rounds * scale), perRound, warmUps: warmUps * scale };
    const took = await sampleInTurn(operations, sampling, async (name, moment) => {
      if (moment === 'after') await pause(restMs);
      const nowUs = cpuUsOf(services[name].pid);
      if (moment === 'after') cpuUs[name].push(nowUs - beforeUs);
      beforeUs = nowUs;
    });
    // Compares rounds, because in a sum a snapshot or a compilation would hide the cost of the page.
    const cpu = (name: Name) =>
      quantile(
        cpuUs[name].map((us, round) => us / (cpuUs.plain[round] ?? Number.NaN)),
        0.5,
      );
    const p50 = (name: Name) => quantile(took[name], 0.5) / quantile(took.plain, 0.5);
    return [
      figure('CPU of a decision, log on / off', cpu('logged'), 'x', { atMost: 1.05 }),
      figure('decide p50, log on / off', p50('logged'), 'x', { atMost: 1.05 }),
      figure('CPU of a decision, a page open / none', cpu('watched'), 'x', { atMost: 1.05 }),
      figure('decide p50, a page open / none', p50('watched'), 'x', { atMost: 1.05 }),
    ];
  } finally {
    reader.abort();
    await nc.close();
    for (const name of names) await services[name].close();
    closeSync(log);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Reads the stream of one fleet as a page does, and discards it. */
async function openPage(http: string, signal: AbortSignal): Promise<void> {
  const { body } = await fetch(`${http}/api/bench-watched/stream`, { signal });
  const drain = async () => {
    for await (const _ of body ?? []);
  };
  drain().catch(() => undefined);
}
