/** Runs the shipped demo from dist. It checks the whole system and leaves nothing behind. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createNarrator } from '../../../src/demo/narrator.ts';
import { playAll } from '../../../src/demo/scenes.ts';
import type { Requester } from '../../../src/nats/requester.ts';
import { createOutput } from '../../../src/terminal/output.ts';
import { main } from '../../support/shipped.ts';

const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The parent of the demo's temporary folder. */
let folder: string;
const running = new Set<ChildProcess>();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stopgate-demo-test-'));
});
afterEach(async () => {
  for (const child of running) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

function start(...args: string[]) {
  const env = { PATH: path, HOME: folder, TMPDIR: folder };
  const child = spawn(process.execPath, [main, 'demo', ...args], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  const ended = once(child, 'close').then(([code]) => {
    running.delete(child);
    return code as number | null;
  });
  return { child, ended };
}

test('every answer is correct, and nothing is left behind', async () => {
  const { child, ended } = start('--fast');
  const [printed, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  expect(errors).toBe('');
  expect(code).toBe(0);
  // No colours without a terminal.
  const lines = printed.split('\n').map((line) => line.replace(/^ +\d+\.\ds {2}/, ''));
  expect(lines.filter((line) => line.startsWith('stopgate  '))).toEqual([
    'stopgate  block · continue · incomplete  by guard checks, block 1 of 3',
    'stopgate  allow · complete · complete  by guard done',
    'stopgate  holds the stop: no answer yet, and no model turn is spent',
    'stopgate  block · continue · pending-tasks  by guard pending',
    'stopgate  block · continue · incomplete  by guard checks, block 1 of 3',
    'stopgate  block · continue · incomplete  by guard checks, block 2 of 3',
    'stopgate  block · continue · incomplete  by guard checks, block 3 of 3',
    'stopgate  allow · complete · capped  by guard retries',
    'stopgate  allow · escalate · escalated  by guard promise',
    'stopgate  allow · escalate · escalated  by guard escalated',
    'stopgate  allow · continue · unjudged  by guard done',
    'stopgate  block · continue · incomplete  by guard checks, block 1',
    'stopgate  block · continue · incomplete  by guard checks, block 2',
    'stopgate  allow · escalate · budget  by guard bypass',
    'stopgate  block · continue · incomplete  by guard checks, block 1 of 3',
    'stopgate  block · continue · incomplete  by guard checks, block 2 of 3',
    'stopgate  allow · complete · complete  by guard done',
    'stopgate  allow · complete · complete  by guard done',
    'stopgate  allow · complete · complete  by guard done',
  ]);
  expect(printed).toMatch(/stopgate: this stop was not judged \(cause unjudged\)/);
  expect(printed).toMatch(/verify +no: Allowed, though a check could not be judged/);
  expect(printed).toContain('2 of 3 plan steps remain: Write tests, Fix lint');
  expect(printed).toMatch(/hook +at the end of her tool: stopgate: The session's budget is used up \(usd 6 of/);
  expect(printed).toContain('fay has used 6.00 dollars and 120,000 tokens');
  expect(printed).toMatch(/Changed files that must stay: test\/sum\.mjs[\s\S]*Command sum failed \(exit 1\)/);
  expect(printed).toMatch(/cannot tell yet: 1 of 3 jobs[\s\S]*cannot tell yet: 2 of 3 jobs[\s\S]*ci +is green/);
  expect(printed).toMatch(/2 stops: 1 blocked, 1 allowed[\s\S]*you came back after 42 minutes: "You wrote no tests"/);
  expect(printed).toMatch(
    /CI +holds: gil of fleet main was judged complete[\s\S]*CI +after another change: does not hold/,
  );
  expect(printed).toContain('stopgate up');
  expect(await readdir(folder)).toEqual([]);
});

test('Ctrl-C, which comes twice under npm, leaves no process and no folder', async () => {
  const { child, ended } = start();
  child.stderr.resume();
  const lines = createInterface({ input: child.stdout });
  for await (const line of lines) if (line.includes('wants to stop')) break;
  const [own = ''] = await readdir(folder);
  const pid = Number(await readFile(join(folder, own, '.stopgate', 'nats-server.pid'), 'utf8'));
  expect(process.kill(pid, 0)).toBe(true);
  child.stdout.resume();
  child.kill('SIGINT');
  child.kill('SIGINT');
  expect(await ended).toBe(130);
  expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
  expect(await readdir(folder)).toEqual([]);
});

test('an unknown option is an error', async () => {
  const { child, ended } = start('--quick');
  expect(await text(child.stderr)).toContain("unknown option '--quick'");
  expect(await ended).toBe(2);
});

test('a wrong answer makes it fail', async () => {
  const verdicts = [{ guard: 'done', verdict: 'allow', detail: '' }];
  const wrong = { decision: 'allow', action: 'complete', cause: 'no-policy', reason: 'no rules', verdicts };
  const agents: Requester = {
    request: async () => wrong,
    publish: async () => ({ seq: 1, duplicate: false }),
    follow: async () => undefined,
    closed: new Promise(() => {}),
    read: () => expect.unreachable(),
    readNewest: () => expect.unreachable(),
    readDeadLetters: () => expect.unreachable(),
    loadStart: async () => null,
    serverName: '',
    close: async () => undefined,
  };
  const stdout = new PassThrough();
  const size = () => ({ columns: 80, rows: 24 });
  const io = { stdout, stderr: stdout, stdin: stdout, env: {}, cwd: folder, isTTY: false, size };
  const out = createOutput({ ...io, interrupt: () => AbortSignal.abort() });
  const narrator = createNarrator(out, { fast: true, signal: new AbortController().signal });
  const cli = async () => ({ code: 0, text: '' });
  const nothing = async () => undefined;
  const stage = { agents, operator: agents, folder, page: '', cli, serveCheck: nothing, close: nothing };
  const played = playAll(stage, narrator);
  await expect(played).rejects.toThrow(
    'the stop of ana got "allow · complete · no-policy, guard done" (no rules), not "block · continue · incomplete, guard checks"',
  );
});
