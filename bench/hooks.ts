/**
 * An agent's hook call: over HTTP compared with its two parts, and as a command compared with an empty Node process.
 */
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { connect } from '@nats-io/transport-node';
import { type ChildCommand, runToEnd } from './child.ts';
import { type Figure, figure, quantile } from './figures.ts';
import { childCpuMs } from './process-cpu.ts';
import { type Operation, sampleInTurn } from './samples.ts';

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
  const took = await sampleInTurn(operations, { rounds: rounds * scale, perRound, warmUps: warmUps * scale });
  agent.destroy();
  await nc.close();
  const parts = quantile(took.decide, 0.5) + quantile(took.empty, 0.5);
  const hook = quantile(took.hook, 0.5);
  return [
    figure('HTTP hook p50', hook, 'ms'),
    figure('HTTP hook p50 / (decide + empty HTTP request)', hook / parts, 'x', { atMost: 1.2 }),
  ];
}

async function measureCommand(scale: number, http: string): Promise<Figure[]> {
  const host = http.replace('http://', '');
  const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  const url = `${http}/hooks/claude?event=Stop`;
  const curlLine = `curl -sf -m 30 -H 'content-type: application/json' --data-binary @- '${url}' || exit 0`;
  const call =
    (...command: ChildCommand): Operation =>
    (index) =>
      runToEnd(command, { stdin: callOf(index) });
  const node = call(process.execPath, file('../src/hook-command/main.js'), 'claude', '--http', host);
  const took = await sampleInTurn(
    {
      node: call(process.execPath, '-e', '0'),
      hook: node,
      cli: call(process.execPath, file('../src/main.js'), 'hook', 'claude', '--http', host),
      curl: call('/bin/sh', '-c', curlLine),
    },
    { rounds: starts * scale, perRound: 1, warmUps: 0 },
  );
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const posted = (index: number) => send(agent, `${http}/hooks/claude?event=Stop`, callOf(index));
  const turns = await measureTurns(scale, {
    posted,
    curl: call('/bin/sh', '-c', curlLine),
    node,
  });
  agent.destroy();
  const p50 = (name: keyof typeof took) => quantile(took[name], 0.5);
  const ratio = (name: keyof typeof took) => p50(name) / p50('node');
  return [
    figure('command hook p50', p50('hook'), 'ms'),
    figure('command hook p50 / node -e 0', ratio('hook'), 'x', { atMost: 1.3 }),
    figure('stopgate hook p50 / node -e 0', ratio('cli'), 'x', { atMost: 1.3 }),
    figure('sh + curl hook p50 / node -e 0', ratio('curl'), 'x'),
    ...turns,
  ];
}

/** A prompt, five tools and a stop. */
const callsPerTurn = 7;
const turnsCount = 5;

/** The cost of a turn for the agent's side: CPU of the processes that its hooks start, and of posting. Linux only. */
async function measureTurns(scale: number, forms: Record<'posted' | 'curl' | 'node', Operation>): Promise<Figure[]> {
  const before = childCpuMs();
  if (before === null) return [];
  const calls = callsPerTurn * scale * turnsCount;
  const cpuMs = async (call: Operation, used: () => number) => {
    const startMs = used();
    for (let index = 0; index < calls; index += 1) await call(index);
    return ((used() - startMs) / calls) * callsPerTurn;
  };
  const ofChildren = () => childCpuMs() ?? Number.NaN;
  const curl = await cpuMs(forms.curl, ofChildren);
  const posted = await cpuMs(forms.posted, () => process.cpuUsage().user / 1_000 + process.cpuUsage().system / 1_000);
  const stopAlone = (posted * (callsPerTurn - 1) + curl) / callsPerTurn;
  return [
    figure('turn with five tools, HTTP hooks, CPU', posted, 'ms'),
    figure('turn with five tools, curl at the stop alone, CPU', stopAlone, 'ms', { atMost: 30 }),
    figure('turn with five tools, sh + curl hooks, CPU', curl, 'ms'),
    figure('turn with five tools, command hooks, CPU', await cpuMs(forms.node, ofChildren), 'ms'),
  ];
}

const callOf = (index: number): string =>
  JSON.stringify({
    session_id: `bench-${index % sessions}`,
    hook_event_name: 'Stop',
    cwd: '/tmp',
    stop_hook_active: false,
    last_assistant_message: 'done',
    transcript_path: '/tmp/t.jsonl',
    permission_mode: 'default',
  });

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
