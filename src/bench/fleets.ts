/** What a fleet costs the process that serves it: many fleets of many workers on one service, beside one that is empty. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import type { Figure } from './figures.ts';
import type { Probed } from './probe.ts';

const fleetsCount = 100;
const workersCount = 1_000;
const decisionsCount = 12_000;
const atOnce = 64;
const idleMs = 20_000;

export async function measureFleets(url: string, scale: number): Promise<Figure[]> {
  const fleets = Array.from({ length: fleetsCount * scale }, (_, index) => `bench-${index}`);
  const nc = await connect({ servers: url });
  const folder = mkdtempSync(join(tmpdir(), 'stopgate-bench-'));
  const serve = (...args: string[]) => openProbed(folder, ['--nats', url, ...args]);
  try {
    const empty = await withService(await serve('--fleet', 'bench-empty'), ({ probe }) => probe());
    await withService(await serve('--fleets', fleets.join()), () => register(nc, fleets));
    return await withService(await serve('--fleets', 'bench-*'), async ({ probe }) => {
      const started = await probe();
      await pause(idleMs * scale);
      const idle = await probe();
      const one = await cpuOf(probe, () => decide(nc, fleets.slice(0, 1), decisionsCount * scale));
      const all = await cpuOf(probe, () => decide(nc, fleets, decisionsCount * scale));
      const of = (bytes: number) => bytes / fleets.length;
      return [
        { name: 'a fleet of 1,000 workers: heap', value: of(idle.heapBytes - empty.heapBytes), unit: 'B' },
        { name: `${fleets.length} such fleets in one process: memory`, value: idle.rssBytes, unit: 'B' },
        { name: 'a fleet of 1,000 workers: CPU of its start', value: of(started.cpuMs - empty.cpuMs), unit: 'ms' },
        {
          name: `${fleets.length} such fleets, idle: part of a core`,
          value: ((idle.cpuMs - started.cpuMs) / (idleMs * scale)) * 100,
          unit: '%',
          goal: { atMost: 10 },
        },
        { name: 'CPU of a decision, all in one of the fleets', value: one / (decisionsCount * scale), unit: 'ms' },
        {
          name: `CPU of a decision, spread over ${fleets.length} fleets / all in one`,
          value: all / one,
          unit: 'x',
        },
      ];
    });
  } finally {
    await nc.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

type Service = { probe(): Promise<Probed>; close(): Promise<void> };

async function openProbed(cwd: string, args: readonly string[]): Promise<Service> {
  const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url));
  const child = fork(pathOf('../main.js'), ['serve', '--http', 'off', '--log-level', 'silent', ...args], {
    cwd,
    env: {}, // without the STOPGATE_* variables of the user's own service
    execArgv: ['--expose-gc', '--import', new URL('../bench/probe.js', import.meta.url).href],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const ready = once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line');
  await Promise.race([ready, failed(child)]);
  return {
    async probe() {
      child.send('probe');
      return (await once(child, 'message'))[0] as Probed;
    },
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      await gone;
    },
  };
}

async function failed(child: ChildProcess): Promise<never> {
  const [code] = await once(child, 'exit');
  throw new Error(`the service that is measured ended with ${code}`);
}

async function withService<Result>(service: Service, use: (service: Service) => Promise<Result>): Promise<Result> {
  try {
    return await use(service);
  } finally {
    await service.close();
  }
}

async function register(nc: NatsConnection, fleets: readonly string[]): Promise<void> {
  for (const fleet of fleets) {
    for (let index = 0; index < workersCount; index += 1)
      nc.publish(`stopgate.${fleet}.worker.w${index}.worker.registered`, '{"agent":"bench"}');
    // The service folds it after all before it: so all are stored then.
    await nc.request(`stopgate.${fleet}.decide.w0`, '{}', { timeout: 30_000 });
  }
}

async function cpuOf(probe: () => Promise<Probed>, use: () => Promise<void>): Promise<number> {
  await use(); // warm
  const before = await probe();
  await use();
  return (await probe()).cpuMs - before.cpuMs;
}

async function decide(nc: NatsConnection, fleets: readonly string[], total: number): Promise<void> {
  let next = 0;
  const repeat = async () => {
    while (next < total) {
      const index = next;
      next += 1;
      const worker = `w${Math.floor(index / fleets.length) % workersCount}`;
      const subject = `stopgate.${fleets[index % fleets.length]}.decide.${worker}`;
      await nc.request(subject, '{"output":"done"}', { timeout: 30_000 });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, repeat));
}
