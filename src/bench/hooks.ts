/** From an agent's hook call to its answer: over HTTP against its two parts, and by the command against an empty node. */
import { spawn } from 'node:child_process';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { connect } from '@nats-io/transport-node';
import { type Figure, quantile } from './figures.ts';

const rounds = 20;
const perRound = 50;
const warmUps = 500;
const starts = 25;
const sessions = 100;

export async function measureHooks(url: string, scale: number, http: string): Promise<Figure[]> {
  return [...(await measureHttp(url, scale, http)), ...(await measureCommand(scale, http))];
}

async function measureHttp(url: string, scale: number, http: string): Promise<Figure[]> {
  const nc = await connect({ servers: url });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const operations = {
    decide: (index: number) => nc.request(`stopgate.main.decide.bare-${index % sessions}`, '{}', { timeout: 10_000 }),
    empty: () => send(agent, `${http}/healthz`, null),
    hook: (index: number) => send(agent, `${http}/hooks/claude?event=Stop`, callOf(index)),
  };
  const names = Object.keys(operations) as (keyof typeof operations)[];
  for (const name of names) for (let index = 0; index < warmUps * scale; index += 1) await operations[name](index);
  const took: Record<keyof typeof operations, number[]> = { decide: [], empty: [], hook: [] };
  for (let round = 0; round < rounds * scale; round += 1) {
    for (const name of names) {
      for (let index = 0; index < perRound; index += 1) took[name].push(await timed(() => operations[name](index)));
    }
  }
  agent.destroy();
  await nc.close();
  const parts = quantile(took.decide, 0.5) + quantile(took.empty, 0.5);
  const hook = quantile(took.hook, 0.5);
  return [
    { name: 'HTTP hook p50', value: hook, unit: 'ms' },
    { name: 'HTTP hook p50 / (decide + empty HTTP request)', value: hook / parts, unit: 'x', goal: { atMost: 1.2 } },
  ];
}

async function measureCommand(scale: number, http: string): Promise<Figure[]> {
  const host = http.replace('http://', '');
  const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  const post = `-H 'content-type: application/json' --data-binary @- '${http}/hooks/claude?event=Stop'`;
  const commands: Record<string, readonly [string, ...string[]]> = {
    node: [process.execPath, '-e', '0'],
    hook: [process.execPath, file('../hook-command/main.js'), 'claude', '--http', host],
    cli: [process.execPath, file('../main.js'), 'hook', 'claude', '--http', host],
    curl: ['/bin/sh', '-c', `curl -sf -m 30 ${post} || exit 0`],
  };
  const took: Record<string, number[]> = {};
  for (let turn = 0; turn < starts * scale; turn += 1) {
    for (const [name, command] of Object.entries(commands)) {
      took[name] ??= [];
      took[name].push(await timed(() => run(command, callOf(turn))));
    }
  }
  const p50 = (name: string) => quantile(took[name] ?? [], 0.5);
  const ratio = (name: string) => p50(name) / p50('node');
  return [
    { name: 'command hook p50', value: p50('hook'), unit: 'ms' },
    { name: 'command hook p50 / node -e 0', value: ratio('hook'), unit: 'x', goal: { atMost: 1.3 } },
    { name: 'stopgate hook p50 / node -e 0', value: ratio('cli'), unit: 'x', goal: { atMost: 1.3 } },
    { name: 'sh + curl hook p50 / node -e 0', value: ratio('curl'), unit: 'x' },
  ];
}

const callOf = (index: number): string =>
  JSON.stringify({
    ...{ session_id: `bench-${index % sessions}`, hook_event_name: 'Stop', cwd: '/tmp', stop_hook_active: false },
    ...{ last_assistant_message: 'done', transcript_path: '/tmp/t.jsonl', permission_mode: 'default' },
  });

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

function send(agent: Agent, url: string, body: string | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers =
      body === null ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const call = request(url, { agent, method: body === null ? 'GET' : 'POST', headers }, (response) => {
      response.resume().once('end', resolve);
    });
    call.once('error', reject);
    call.end(body ?? undefined);
  });
}

function run([program, ...args]: readonly [string, ...string[]], stdin: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['pipe', 'ignore', 'inherit'] });
    child.stdin.on('error', () => undefined).end(stdin);
    child.once('error', reject);
    child.once('close', () => resolve());
  });
}
