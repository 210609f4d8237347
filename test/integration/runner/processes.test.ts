/**
 * Checks leave no processes behind, and leftover processes do not delay replies. Each workspace also checks at cleanup.
 */
import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { createLogger } from '../../../src/log.ts';
import { createWorkspace, isRunning, node, sh } from './workspace.ts';

/** Starts a child that keeps our pipes open, writes both pids, then runs `next`. Both processes ignore SIGTERM. */
const stubborn = (next: string) =>
  sh(`
    trap '' TERM
    while :; do sleep 0.1; done &
    echo "[$$, $!]" > pids.new
    mv pids.new pids
    ${next}
  `);
const pidsOf = async (read: (name: string) => Promise<string>) => JSON.parse(await read('pids')) as [number, number];

describe('a command that times out', () => {
  test('is killed with all its children, even if they ignore SIGTERM', async () => {
    const { command, read } = await createWorkspace({ check: stubborn('wait') });
    const result = await command('check', { timeoutMs: 1_500 });
    expect(result).toMatchObject({ outcome: 'timeout', reason: 'Command check took longer than 2s' });
    for (const pid of await pidsOf(read)) expect(await isRunning(pid)).toBe(false);
  });

  test("has the command's timeout if the check has none", async () => {
    const { command } = await createWorkspace({ check: sh('sleep 60', { timeoutMs: 250 }) });
    expect(await command('check')).toMatchObject({
      outcome: 'timeout',
      reason: 'Command check took longer than 250ms',
    });
    expect((await command('check', { timeoutMs: 150 })).reason).toBe('Command check took longer than 150ms');
  });

  test('gets SIGTERM first', async () => {
    const { command, read } = await createWorkspace({
      check: sh(`trap 'echo tidied > tidied; exit 0' TERM; while :; do sleep 0.05; done`),
    });
    expect(await command('check', { timeoutMs: 1_000 })).toMatchObject({ outcome: 'timeout' });
    expect(await read('tidied')).toBe('tidied\n');
  });

  test('a timeout beyond the range of timers never expires', async () => {
    const { command } = await createWorkspace({ check: sh('exit 0') });
    expect(await command('check', { timeoutMs: 2 ** 40 })).toMatchObject({ outcome: 'pass' });
  });
});

describe('a process that a command leaves behind', () => {
  test('is killed, and its open pipe does not delay the reply', async () => {
    const { command, read } = await createWorkspace({ check: stubborn('echo done; exit 0') });
    const result = await command('check');
    expect(result).toMatchObject({ outcome: 'pass', feedback: 'done' });
    for (const pid of await pidsOf(read)) expect(await isRunning(pid)).toBe(false);
  });

  test('may finish its last output', async () => {
    // The child writes only when the leader has exited and its end of the pipe is closed.
    const { command } = await createWorkspace({
      check: sh('mkfifo pipe; (cat pipe; sleep 0.05; echo late) & exec 3> pipe; exit 1'),
    });
    expect(await command('check')).toMatchObject({ outcome: 'fail', feedback: 'late' });
  });

  // The parent leaves the group and never reaps its children, like a PID 1 that is not an init.
  const zombie = `
    if (!fork) { exit 0 if !fork; setpgrp; open F, '>pid.new'; print F $$; close F; rename 'pid.new', 'pid'; sleep 600 }
    select undef, undef, undef, 0.01 until -e 'pid';
    exit 0;
  `;
  test('is not waited for if it is a zombie', async ({ skip }) => {
    const warnings: string[] = [];
    const { command, read } = await createWorkspace(
      { check: { ...sh(''), run: ['perl', '-e', zombie], feedback: 'none' } },
      { log: createLogger('warn', { write: (line) => void warnings.push(line) }) },
    );
    const { outcome, reason } = await command('check');
    skip(reason === 'cannot run perl: not found');
    process.kill(Number(await read('pid')), 'SIGKILL');
    await expect.poll(async () => isRunning(Number(await read('pid')))).toBe(false);
    expect(outcome).toBe('pass');
    skip(process.platform !== 'linux', 'only /proc tells the dead');
    expect(warnings).toEqual([]); // otherwise there is a warning that the group outlived SIGKILL
  });

  test('is neither killed nor waited for if it left the group', async () => {
    const source = `
      const { spawn } = require('node:child_process');
      const child = spawn('sleep', ['600'], { detached: true, stdio: ['ignore', 'inherit', 'inherit'] });
      require('node:fs').writeFileSync('pid', String(child.pid));
      console.log('done');
      process.exit(1);
    `;
    const { command, read } = await createWorkspace({ check: node(source) });
    expect(await command('check')).toMatchObject({ outcome: 'fail', feedback: 'done' });
    process.kill(Number(await read('pid')), 'SIGKILL');
    await expect.poll(async () => isRunning(Number(await read('pid')))).toBe(false);
  });
});

describe('an abort', () => {
  test('replies at once and ends the group', async () => {
    const { command, read } = await createWorkspace({ check: stubborn('wait') });
    const controller = new AbortController();
    const running = command('check', { signal: controller.signal });
    const pids = await pidsOf(read);
    controller.abort();
    expect(await running).toEqual({ outcome: 'error', reason: 'cancelled', tookMs: expect.any(Number) });
    expect(await isRunning(pids[0])).toBe(true); // it ignores SIGTERM, and the reply did not wait for SIGKILL
    for (const pid of pids) await expect.poll(() => isRunning(pid)).toBe(false);
  });

  test('before the start runs nothing', async () => {
    const { command, runner, cwd } = await createWorkspace({ check: sh('echo ran > ran') });
    const controller = new AbortController();
    const running = command('check', { signal: controller.signal });
    controller.abort();
    expect(await running).toMatchObject({ outcome: 'error', reason: 'cancelled' });
    expect(await command('check', { signal: AbortSignal.abort() })).toMatchObject({ reason: 'cancelled' });
    expect(
      await runner.run({ kind: 'files', files: ['ran'], cwd, timeoutMs: null }, new AbortController().signal),
    ).toMatchObject({ outcome: 'fail' });
  });

  test('after the end has no effect, and the signal has no listeners left', async () => {
    const { command } = await createWorkspace({ check: sh('exit 0') });
    const controller = new AbortController();
    expect(await command('check', { signal: controller.signal })).toMatchObject({ outcome: 'pass' });
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    controller.abort();
  });
});

describe('close', () => {
  test('cancels running checks and waits until their processes are gone', async () => {
    const { command, read, runner } = await createWorkspace(
      { check: stubborn('wait'), next: sh('exit 0') },
      { processesMax: 1 },
    );
    const running = command('check');
    const queued = command('next');
    const pids = await pidsOf(read);
    await Promise.all([runner.close(), runner.close()]);
    for (const pid of pids) expect(await isRunning(pid)).toBe(false);
    for (const result of [await running, await queued, await command('next')]) {
      expect(result).toMatchObject({ outcome: 'error', reason: 'cancelled' });
    }
  });

  test('is not needed at a crash: the processes are killed', async () => {
    const { command, read } = await createWorkspace({ check: stubborn('wait') });
    const running = command('check');
    const pids = await pidsOf(read);
    process.listeners('exit').at(-1)?.(0);
    expect(await running).toMatchObject({ outcome: 'error', reason: 'Command check was killed by SIGKILL' });
    for (const pid of pids) expect(await isRunning(pid)).toBe(false);
  });

  test('removes the exit listener', async () => {
    const before = process.listenerCount('exit');
    const { runner } = await createWorkspace();
    expect(process.listenerCount('exit')).toBe(before + 1);
    await runner.close();
    expect(process.listenerCount('exit')).toBe(before);
  });
});

describe('the queue', () => {
  /** Runs until there is a file named after its attempt. */
  const gate = sh('echo "$STOPGATE_ATTEMPT" >> begun; until test -e "go-$STOPGATE_ATTEMPT"; do sleep 0.02; done');

  test('limits concurrency, keeps the order, and starts the timeout with the command', async () => {
    const { runner, cwd, read, write } = await createWorkspace({ gate }, { processesMax: 2 });
    const run = (attempt: string, timeoutMs: number, signal = new AbortController().signal) =>
      runner.run({ kind: 'command', name: 'gate', cwd, timeoutMs, env: { attempt } }, signal);
    const left = new AbortController();
    const [a, b] = [run('a', 20_000), run('b', 1_500)];
    const [c, d, e] = [run('c', 1_000), run('d', 20_000, left.signal), run('e', 20_000)];
    const begun = async () => (await read('begun')).trim().split('\n');
    await expect.poll(async () => (await begun()).sort()).toEqual(['a', 'b']);
    left.abort();
    expect(await d).toEqual({ outcome: 'error', reason: 'cancelled', tookMs: 0 });
    for (const name of ['go-c', 'go-e']) await write(name, '');
    // c starts when b ends. b's timeout is longer than c's, so c's timeout cannot include the wait.
    expect((await Promise.all([b, c, e])).map((it) => it.outcome)).toEqual(['timeout', 'pass', 'pass']);
    await write('go-a', '');
    expect(await a).toMatchObject({ outcome: 'pass' });
    expect((await begun()).slice(2)).toEqual(['c', 'e']);
  });

  test('is bounded: further checks fail at once with an error', async () => {
    const bounds = { processesMax: 1, waitingMax: 1 };
    const { command, runner, read, write } = await createWorkspace({ gate }, bounds);
    const running = command('gate');
    await expect.poll(() => read('begun')).toBe('a1\n');
    const waiting = command('gate');
    await expect.poll(runner.waiting).toBe(1);
    expect(await command('gate')).toMatchObject({
      outcome: 'error',
      reason: expect.stringMatching(/^too many checks wait for the runner \(at most 1, .*concurrency/),
      tookMs: 0,
    });
    await write('go-a1', '');
    for (const each of [running, waiting]) expect(await each).toMatchObject({ outcome: 'pass' });
  });

  test('a flood of 900 invented workers delays a neighbour by one check', async () => {
    const { runner, cwd, read, write } = await createWorkspace({ gate }, { processesMax: 1 });
    const run = (attempt: string, worker: string, folder: string | null, signal: AbortSignal) =>
      runner.run({ kind: 'command', name: 'gate', cwd: folder, timeoutMs: null, env: { worker, attempt } }, signal);
    const never = new AbortController().signal;
    const first = run('first', 'w0', cwd, never);
    await expect.poll(() => read('begun')).toBe('first\n');
    const aborts = Array.from({ length: 900 }, () => new AbortController());
    const flood = aborts.map(({ signal }, at) => run('flood', `invented-${at}`, cwd, signal));
    const neighbour = run('neighbour', 'neighbour', cwd, never);
    for (const name of ['go-first', 'go-flood', 'go-neighbour']) await write(name, '');
    expect(await neighbour).toMatchObject({ outcome: 'pass' });
    for (const abort of aborts) abort.abort();
    expect((await read('begun')).split('\n').indexOf('neighbour')).toBe(2);
    expect(await first).toMatchObject({ outcome: 'pass' });
    const outcomes = (await Promise.all(flood)).map(({ outcome, reason }) => reason ?? outcome);
    expect(outcomes.filter((it) => it === 'cancelled').length).toBeGreaterThan(890);
  });

  test('at most 128 checks of one worker wait; beyond that the oldest fails', async () => {
    const { command, runner, read, write } = await createWorkspace({ gate }, { processesMax: 1 });
    const running = command('gate');
    await expect.poll(() => read('begun')).toBe('a1\n');
    const waiting = Array.from({ length: 129 }, () => command('gate'));
    expect(await waiting[0]).toMatchObject({
      outcome: 'error',
      reason: expect.stringMatching(/^more than 128 checks of/),
    });
    expect(runner.waiting()).toBe(128);
    await write('go-a1', '');
    expect(await running).toMatchObject({ outcome: 'pass' });
    await runner.close();
    await Promise.all(waiting);
  });

  test('forty checks at once all get a reply', async () => {
    const { command } = await createWorkspace({ check: sh('exit 1') });
    const results = await Promise.all(Array.from({ length: 40 }, () => command('check')));
    expect(new Set(results.map((it) => it.outcome))).toEqual(new Set(['fail']));
  });
});
