/**
 * `npm run bench:inspector`: the cost of an open page for the service, for a decision, and for the browser, with the
 * 5,000 workers and 5,000 entries per second of the goals.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { chromium } from 'playwright-core';
import { readEnvironment } from '../src/config/environment.ts';
import { type Figure, figure, formatFigures, quantile } from './figures.ts';
import { openScene, type Scene } from './scene.ts';

const workers = 5_000;
const perSecond = 5_000;
const spanMs = 8_000;
const rounds = 3;
const pagesOpen = 3;
const decidesPerRound = 600;
const decideTraffic = 500;

/** Adds up all work of the page within one frame of 16 ms. */
const frameWork = `(() => {
  const frames = new Map();
  for (const { startTime, duration } of performance.getEntriesByType('measure')) {
    const frame = Math.floor(startTime / 16);
    frames.set(frame, (frames.get(frame) ?? 0) + duration);
  }
  return [...frames.values()];
})()`;

const scene = await openScene();
const nc = await connect({ servers: scene.url });
try {
  await introduce();
  const figures = [...measureSize(), ...(await measureCost()), ...(await measureDecide()), ...(await measureBrowser())];
  process.stdout.write(process.argv.includes('--json') ? `${JSON.stringify(figures)}\n` : formatFigures(figures));
} finally {
  await nc.close();
  await scene.close();
}

async function introduce(): Promise<void> {
  for (let index = 0; index < workers; index += 1)
    nc.publish(`stopgate.main.worker.w${index}.worker.registered`, '{"agent":"bench","policy":"plain"}');
  await nc.flush();
  const manager = await jetstreamManager(nc);
  while ((await manager.streams.info('STOPGATE_main')).state.messages < workers) await pause(50);
  await nc.request('stopgate.main.decide.w1', '{}', { timeout: 30_000 });
}

/** The download size before the page is shown. Views that are opened later load their code then. */
function measureSize(): Figure[] {
  const read = (name: string) => readFileSync(new URL(`../inspector/${name}`, import.meta.url));
  const files = read('index.html')
    .toString()
    .matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g);
  const streams = readdirSync(new URL('../inspector/assets', import.meta.url)).filter((name) =>
    /^shared-stream.*\.js$/.test(name),
  );
  const names = ['index.html', ...[...files].map(([, name = '']) => name), ...streams.map((name) => `assets/${name}`)];
  const sizes = names.map((name) => gzipSync(read(name), { level: 9 }).length);
  const value = sizes.reduce((sum, size) => sum + size, 0);
  return [figure('inspector: the page, gzipped', value, 'B', { atMost: 100 * 1_024 })];
}

async function measureCost(): Promise<Figure[]> {
  const took: Record<'without' | 'with', number[]> = { without: [], with: [] };
  for (let round = 0; round < rounds; round += 1) {
    took.without.push(await cpuWhileTalking());
    const leave = await openReader(scene);
    took.with.push(await cpuWhileTalking());
    leave();
  }
  const without = quantile(took.without, 0.5);
  const value = quantile(took.with, 0.5) - without;
  return [
    figure('inspector: service at 5,000 entries/s, of a core', without, '%'),
    figure('inspector: one open page adds, of a core', value, '%', { atMost: 5 }),
  ];
}

/** CPU time of the service's process, in percent of one core. */
async function cpuWhileTalking(): Promise<number> {
  const before = await cpuSeconds();
  const startedMs = performance.now();
  await talk(nc, perSecond, spanMs);
  const seconds = (await cpuSeconds()) - before;
  return (seconds / ((performance.now() - startedMs) / 1_000)) * 100;
}

async function cpuSeconds(): Promise<number> {
  const text = await (await fetch(`${scene.http}/metrics`)).text();
  return Number(/^stopgate_process_cpu_seconds_total ([\d.e+-]+)/m.exec(text)?.[1]);
}

async function measureDecide(): Promise<Figure[]> {
  const took: Record<'without' | 'with', number[]> = { without: [], with: [] };
  await sampleDecides([]);
  for (let round = 0; round < rounds; round += 1) {
    await sampleDecides(took.without);
    const leave = await Promise.all(Array.from({ length: pagesOpen }, () => openReader(scene)));
    await sampleDecides(took.with);
    for (const each of leave) each();
  }
  const without = quantile(took.without, 0.5);
  const value = quantile(took.with, 0.5) / without;
  return [
    figure('inspector: decide p50, no page open', without, 'ms'),
    figure(`inspector: decide p50 with ${pagesOpen} pages open / without`, value, 'x', { atMost: 1.05 }),
  ];
}

async function sampleDecides(took: number[]): Promise<void> {
  let done = false;
  const talking = talk(nc, decideTraffic, Number.POSITIVE_INFINITY, () => done);
  for (let index = 0; index < decidesPerRound; index += 1) {
    const startedMs = performance.now();
    await nc.request(`stopgate.main.decide.w${index % workers}`, '{}', { timeout: 10_000 });
    took.push(performance.now() - startedMs);
  }
  done = true;
  await talking;
}

/** Reads the stream like a page, and discards it. */
async function openReader({ http }: Scene): Promise<() => void> {
  const abort = new AbortController();
  const { body } = await fetch(`${http}/api/main/stream`, { signal: abort.signal });
  const drain = async () => {
    for await (const _ of body ?? []);
  };
  drain().catch(() => undefined);
  await pause(500);
  return () => abort.abort();
}

async function measureBrowser(): Promise<Figure[]> {
  const executablePath = readEnvironment().CHROMIUM ?? '/usr/bin/chromium';
  if (!existsSync(executablePath)) {
    process.stderr.write('no Chromium here: the browser is not measured (docker/install-chromium.sh)\n');
    return [];
  }
  const profile = mkdtempSync(join(tmpdir(), 'stopgate-bench-'));
  const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-sync'];
  const context = await chromium.launchPersistentContext(profile, { executablePath, args });
  try {
    const page = context.pages()[0] ?? (await context.newPage());
    await page.goto(scene.http);
    await page.locator('.shown', { hasText: '5,000 workers' }).waitFor();
    const paint = `performance.getEntriesByName('first-contentful-paint')[0].startTime`;
    const paintMs = await page.evaluate<number>(paint);
    await page.evaluate('performance.clearMeasures()');
    await talk(nc, perSecond, spanMs);
    const frames = await page.evaluate<number[]>(frameWork);
    return [
      figure('inspector: first paint', paintMs, 'ms', { atMost: 300 }),
      figure("inspector: a frame's work p50, 5,000 entries/s", quantile(frames, 0.5), 'ms'),
      figure("inspector: a frame's work p95", quantile(frames, 0.95), 'ms', { atMost: 8 }),
    ];
  } finally {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  }
}

/** Publishes at this rate for the given time. */
async function talk(to: NatsConnection, rate: number, forMs: number, isDone = () => false): Promise<void> {
  const startedMs = performance.now();
  for (let sent = 0; ; await pause(5)) {
    const passedMs = performance.now() - startedMs;
    if (passedMs >= forMs || isDone()) break;
    for (const due = (passedMs / 1_000) * rate; sent < due; sent += 1)
      to.publish(`stopgate.main.worker.w${sent % workers}.tool.used`, '{"tool":"Bash","ok":true}');
  }
  await to.flush();
}
