/**
 * Runs each shipped command once as a process: its exit code, stdout and stderr, and its end by a
 * signal. Everything else is tested in the process of the tests.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { commands } from '../../src/cli/command-table.ts';
import { version } from '../../src/version.ts';
import { isRunning } from '../integration/runner/workspace.ts';
import { cleanEnv } from '../support/command.ts';
import { makeFolder } from '../support/deployment.ts';
import { clear, type Dev, exists, inStore, serverPid, startDev } from '../support/dev.ts';
import { openPort } from '../support/port.ts';
import { serveShipped } from '../support/service.ts';
import { openNats } from '../support/shared-server.ts';
import { main, runShipped, startShipped } from '../support/shipped.ts';

let folder: Awaited<ReturnType<typeof makeFolder>>;
let dev: Dev;
const run = (args: readonly string[], stdin = '') => runShipped(args, { cwd: folder.path, stdin });
/** Runs a command to its end. Expects this exit code and nothing on stderr. */
const says = async (args: readonly string[], code = 0, stdin = '') => {
  const { stdout, ...ended } = await run(args, stdin);
  expect(ended).toEqual({ code, stderr: '' });
  return stdout;
};
const publish = (subject: string, data: object) => says(['publish', subject, JSON.stringify(data)]);
const promised = { attempt: 'a1', output: '<promise>BLOCKED</promise>' };

beforeAll(async () => {
  folder = await makeFolder({
    'stopgate.yaml': 'policies: { default: { promises: true, checks: [{ plan: {} }] } }\n',
    'log.jsonl': `${JSON.stringify({ at: '2026-03-02T12:00:00Z', subject: 'stopgate.main.worker.w1.stop.attempted', data: {} })}\n`,
  });
  dev = await startDev(folder, serveShipped);
  await publish('worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
  await publish('task.T-1.task.created', { title: 'Fix the login' });
  await publish('worker.asks.input.requested', { kind: 'permission', request: 'r1', tool: 'Bash' });
  for (const worker of ['ack', 'resolve', 'retire']) await publish(`worker.${worker}.stop.attempted`, promised);
});
afterAll(() => clear(folder));

/** In the order of help. All others use `dev`, which ends last. */
const rows: Record<string, () => Promise<unknown>> = {
  demo: async () => expect(await says(['demo', '--fast'])).toContain('Every answer was as expected'),
  async up() {
    const stdout = await says(['up', '--agent', 'claude', '--dry-run']);
    expect(stdout).toContain(`the service that runs here (process ${dev.pid}), at ${dev.ready.http}`);
  },
  async down() {
    expect(await run(['down'])).toEqual({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('there is nothing to undo'),
    });
  },
  async serve() {
    const server = await openNats();
    onTestFinished(() => server.stop());
    const service = await serveShipped(['serve', '--nats', server.url, '--http', 'off'], folder.path);
    expect(service.stdout()).toBe(`{"ready":true,"nats":"${server.url}","http":null,"fleet":"main"}\n`);
    expect(await service.kill('SIGTERM')).toBe(0);
  },
  async runner() {
    const runner = await serveShipped(['runner', '--name', 'box'], folder.path);
    expect(runner.ready).toMatchObject({ runner: 'box', nats: dev.ready.nats });
    expect(await runner.kill('SIGINT')).toBe(0);
  },
  async init() {
    expect(await run(['init', 'codex', '--form', 'command', '--yes'])).toMatchObject({ code: 0 });
    const written = await readFile(join(folder.path, '.codex/hooks.json'), 'utf8');
    const [, file = ''] = /(\/\S*hook-command\/main\.js)/.exec(written) ?? [];
    expect(await exists(file)).toBe(true);
  },
  async hook() {
    const stop = JSON.stringify({ hook_event_name: 'Stop', session_id: 'h1' });
    expect(await says(['hook', 'claude', '--http', dev.ready.http], 0, stop)).toBe('');
    // A script uses the exit code.
    const blocked = await run(['hook', 'shell', '--worker', 'w1', '--http', dev.ready.http], '{}');
    expect(blocked).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining('Write tests') });
  },
  async acp() {
    const wish = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 1 } });
    const agent = fileURLToPath(new URL('../support/acp-agent.mjs', import.meta.url));
    const { code, stdout } = await run(['acp', '--', process.execPath, agent], `${wish}\n`);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ id: 1, result: { agentInfo: { name: 'scripted-agent' } } });
  },
  async test() {
    await says(['test', '--init', 'first.test.yaml']);
    expect(await says(['test', 'first.test.yaml'])).toMatch(/1 passed|passed/);
  },
  async 'claim-next'() {
    await publish('task.T-9.task.created', { queue: 'q9' });
    expect(await says(['claim-next', 'claimer', '--queue', 'q9'])).toContain('T-9');
    expect(await says(['claim-next', 'claimer', '--queue', 'q9'], 1)).toContain('q9');
  },
  async resumable() {
    await publish('worker.limited.worker.registered', { agent: 'claude' });
    await publish('worker.limited.limit.reached', { until: '2026-01-01T00:00:00Z' });
    expect(await says(['resumable'])).toContain("claude --resume limited 'The usage limit has reset.");
  },
  async spend() {
    await publish('worker.spender.usage.reported', { usd: 0.5, model: 'm' });
    expect(await says(['spend', '--by', 'worker'])).toMatch(/spender .*0\.50/);
  },
  async doctor() {
    const { code, stdout, stderr } = await run(['doctor', 'gemini']);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout).toContain(`ready at ${dev.ready.http}`);
  },
  async loop() {
    const line = ['loop', '--worker', 'looped', '--prompt', 'Say hello.', '--', 'echo'];
    expect(await run([...line, '{prompt}'])).toMatchObject({ code: 0, stdout: 'Say hello.\n' });
  },
  decide: async () => expect(await says(['decide', 'w1'], 1)).toContain('1 of 1 plan steps remain: Write tests'),
  probe: async () => expect(await says(['probe', 'w1'], 1)).toContain('1 of 1 plan steps remain: Write tests'),
  verify: async () => expect(await says(['verify', 'w1'], 1)).toContain('1 of 1 plan steps remain: Write tests'),
  publish: async () => expect(await publish('worker.p1.tool.used', { tool: 'Bash' })).not.toBe(''),
  async mcp() {
    const stdin = new PassThrough();
    const mcp = startShipped(['mcp', '--worker', 'w1'], { cwd: folder.path, stdin });
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
    await mcp.printed(/^\{.*"id":1.*\}\n$/);
    expect(await mcp.kill('SIGTERM')).toBe(0);
    expect(mcp.stderr()).toBe('');
  },
  workers: async () => expect(await says(['workers'])).toMatch(/^w1 +blocked/m),
  async top() {
    const command = `'${process.execPath}' '${main}' top`;
    // It needs a terminal, which `script` of util-linux provides.
    const child = spawn('script', ['--quiet', '--flush', '--return', '--command', command, '/dev/null'], {
      cwd: folder.path,
      env: cleanEnv(folder.path),
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let shown = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      shown += text;
    });
    const ended = once(child, 'close');
    await expect.poll(() => shown).toMatch(/fleet main · \d+ workers/);
    child.stdin?.write('q');
    expect((await ended)[0]).toBe(0);
    expect(shown.trimEnd().endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
  },
  worker: async () => expect(await says(['worker', 'w1'])).toContain('☐ Write tests'),
  tasks: async () => expect(await says(['tasks'])).toMatch(/^T-1 +idle/m),
  task: async () => expect(await says(['task', 'T-1'])).toContain('Fix the login'),
  queues: async () => expect(await says(['queues'])).toMatch(/^main +1 /m),
  escalations: async () => expect(await says(['escalations'])).toMatch(/^worker ack /m),
  explain: async () => expect(await says(['explain', 'w1'])).toContain('The guard "checks" decided'),
  async tail() {
    const tail = startShipped(['tail', '--json', '--worker', 'w1'], { cwd: folder.path });
    await tail.printed('plan.updated');
    expect(await tail.kill('SIGINT')).toBe(0);
  },
  ack: async () => expect(await says(['ack', 'ack', '--by', 'ann', '--yes'])).toContain('acknowledged by ann'),
  resolve: async () => expect(await says(['resolve', 'resolve', '--stop', '--yes'])).toContain('resolve: resolved'),
  answer: async () => expect(await says(['answer', 'asks', '--allow', '--by', 'ann', '--yes'])).toContain('by ann'),
  pause: async () =>
    expect(await says(['pause', 'ack', '--for', '30m', '--by', 'ann', '--yes'])).toContain('paused by ann'),
  unpause: async () => expect(await says(['unpause', 'ack', '--by', 'ann', '--yes'])).toContain('ack'),
  retire: async () => expect(await says(['retire', 'retire', '--yes'])).toContain('retire: retired'),
  replay: async () => expect(JSON.parse(await says(['replay', 'log.jsonl']))).toMatchObject({ worker: 'w1' }),
  snapshot: async () =>
    expect(JSON.parse(await says(['snapshot', '--json']))).toMatchObject({ seq: expect.any(Number) }),
  export: async () => {
    expect(await says(['export', '--worker', 'w1'])).toContain('worker.w1.plan.updated');
  },
  'dead-letters': async () => expect(await says(['dead-letters', '--json'])).toBe(''),
  context: async () => expect(JSON.parse(await says(['context', '--json']))).toBeInstanceOf(Array),
  rules: async () => expect(JSON.parse(await says(['rules', '--json']))).toMatchObject({ rules: expect.any(Array) }),
  attest: async () => expect(await run(['attest', '--worker', 'nobody'])).toMatchObject({ code: 1 }),
  backtest: async () => expect(JSON.parse(await says(['backtest', '--json']))).toMatchObject({ sessions: [] }),
  check: async () => expect(await says(['check'])).toContain('stopgate.yaml is valid'),
  permissions: async () => expect(await says(['permissions', '--role', 'agent'])).toMatch(/^# stopgate, fleet main/),
  token: async () => expect(await says(['token', 'ci', '--role', 'read'])).toMatch(/^token +[0-9a-f]{48}\n/),
  async import() {
    const ended = await run(['import', 'log.jsonl', '--fleet', 'fresh']);
    expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('log.jsonl, line 1: "seq"') });
  },
  audit: async () => expect(await says(['audit', '--worker', 'nobody'])).toContain('No operator actions'),
  async 'support-bundle'() {
    const { code, stdout, stderr } = await run(['support-bundle', '--http', 'off', '--nats', 'nats://127.0.0.1:1']);
    expect(stdout).toContain('.json; read it before you send it');
    expect(stderr).toMatch(/^stopgate: missing: readiness.*\nstopgate: missing: streams.*\n$/);
    expect(code).toBe(0);
  },
  async bench() {
    const { code, stdout, stderr } = await run(['bench', 'speed']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toBe(
      'stopgate: the package does not contain the benchmark; clone the repository and run "npm run bench"\n',
    );
  },
  completion: async () => expect(await says(['completion', 'bash'])).toContain('complete '),
  async dev() {
    const { nats, http } = dev.ready;
    expect(dev.stdout()).toBe(`{"ready":true,"nats":"${nats}","http":"${http}","fleet":"main"}\n`);
    const pid = await serverPid(folder);
    expect(await isRunning(pid)).toBe(true);
    expect(await dev.kill('SIGTERM')).toBe(0);
    expect(await isRunning(pid)).toBe(false);
    for (const name of ['service.json', 'nats-server.pid', 'lock'])
      expect([name, await exists(inStore(folder, name))]).toEqual([name, false]);
  },
};

describe('the shipped program', () => {
  test.each(Object.entries(rows))('%s', async (_name, show) => {
    await show();
    expect.hasAssertions();
  });

  test('has a test here for each command', () => {
    expect(Object.keys(rows).sort()).toEqual(Object.keys(commands).sort());
  });

  test('has --version and --help', async () => {
    expect(await says(['--version'])).toBe(`${version()}\n`);
    expect(await says(['--help'])).toContain('stopgate');
  });
});

test('reports an error if a file takes only part of the output', async () => {
  // A limit of 512 bytes: like on a full disk, one write is incomplete and the next one fails.
  const limited = ['-c', 'ulimit -f 1; exec "$0" "$@" >part', process.execPath, main, 'help'];
  const child = spawn('sh', limited, {
    cwd: folder.path,
    env: cleanEnv(folder.path),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('stopgate: cannot write to stdout') });
  expect(await readFile(join(folder.path, 'part'))).toHaveLength(512);
});

// Root cause of a process that never ended: nats-core gives up after its timeout, but leaves the socket open.
test('serve exits if a program that is not a NATS server listens at the address', async () => {
  const mute = await openPort(null);
  const { code, stderr } = await run(['serve', '--nats', `nats://${mute.http}`, '--http', 'off']);
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining('stopgate: no NATS server at') });
});
