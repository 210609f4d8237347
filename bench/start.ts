/**
 * The duration of commands, compared with an empty Node process, because each command pays for the code it loads. Also
 * the duration of a service's start after a kill, compared with one after a clean stop, whose snapshot covers
 * everything.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect } from '@nats-io/transport-node';
import { type ChildCommand, runToEnd } from './child.ts';
import { type Figure, figure, quantile } from './figures.ts';
import { cpuUsOf } from './process-cpu.ts';
import { type Operation, sampleInTurn } from './samples.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';

const rounds = 9;
const roundsMin = 3;

export async function measureStart(url: string, scale: number): Promise<Figure[]> {
  const main = fileURLToPath(new URL('../src/main.js', import.meta.url));
  const cwd = mkdtempSync(join(tmpdir(), 'stopgate-bench-')); // without a stopgate.yaml, whose parser takes longer to load
  const node = (...args: string[]): Operation => {
    const command: ChildCommand = [process.execPath, ...args];
    return () => runToEnd(command, { cwd });
  };
  try {
    const took = await sampleInTurn(
      {
        node: node('-e', '0'),
        version: node(main, '--version'),
        help: node(main, '--help'),
        decide: node(main, 'decide', 'start', '--nats', url),
      },
      { rounds: Math.max(roundsMin, rounds * scale), perRound: 1, warmUps: 1 },
    );
    const ratio = (name: keyof typeof took) => quantile(took[name], 0.5) / quantile(took.node, 0.5);
    return [
      figure('node -e 0 p50', quantile(took.node, 0.5), 'ms'),
      figure('stopgate --version p50 / node -e 0', ratio('version'), 'x', { atMost: 1.5 }),
      figure('stopgate --help p50 / node -e 0', ratio('help'), 'x', { atMost: 1.5 }),
      figure('stopgate decide p50 / node -e 0', ratio('decide'), 'x', { atMost: 2.5 }),
      ...(await measureRestart(url, cwd, scale)),
    ];
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

const restartRounds = 3;
/** With one more entry there would be a snapshot (protocol.md §15). */
const tailEntries = 9_900;
const fleet = 'bench-restart';

async function measureRestart(url: string, cwd: string, scale: number): Promise<Figure[]> {
  const nc = await connect({ servers: url });
  const start = async (): Promise<{ service: ServiceProcess; tookMs: number; cpuMs: number }> => {
    const startedMs = performance.now();
    const service = startServiceProcess({ url, cwd, http: 'off', args: ['--fleet', fleet] });
    await service.ready;
    return { service, tookMs: performance.now() - startedMs, cpuMs: cpuUsOf(service.pid) / 1_000 };
  };
  const publish = async (entries: number) => {
    for (let index = 0; index < entries; index += 1) {
      const worker = `stopgate.${fleet}.worker.w${index % 1_000}`;
      if (index % 4 === 3) nc.publish(`${worker}.stop.attempted`, JSON.stringify({ attempt: `a${performance.now()}` }));
      else nc.publish(`${worker}.tool.used`, '{"tool":"Edit","files":["src/a.ts"]}');
      if (index % 500 === 0) await nc.request(`stopgate.${fleet}.get.worker.w0`, '{}', { timeout: 60_000 });
    }
    await nc.request(`stopgate.${fleet}.get.worker.w0`, '{}', { timeout: 60_000 });
  };
  const added = { tookMs: [] as number[], cpuMs: [] as number[] };
  await (await start()).service.close();
  for (let round = 0; round < Math.max(1, restartRounds * scale); round += 1) {
    const orderly = await start();
    // A decision entry follows each attempt.
    await publish(Math.ceil((tailEntries * scale * 4) / 5));
    process.kill(orderly.service.pid, 'SIGKILL');
    await orderly.service.close();
    const killed = await start();
    await killed.service.close();
    added.tookMs.push(killed.tookMs - orderly.tookMs);
    added.cpuMs.push(killed.cpuMs - orderly.cpuMs);
  }
  await nc.close();
  return [
    figure('start after kill -9 adds, 10,000 entries after a snapshot', quantile(added.tookMs, 0.5), 'ms', {
      atMost: 1_000,
    }),
    figure('start after kill -9 adds, CPU', quantile(added.cpuMs, 0.5), 'ms'),
  ];
}
