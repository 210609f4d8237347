/** No process is left behind, and none holds an answer up. Every workspace checks for leftovers at its end too. */
import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { createLogger } from '../../../src/log.ts';
import { createWorkspace, isRunning, node, sh } from './workspace.ts';

/** Starts a child that holds our pipes, writes both pids, then does `next`. Both ignore SIGTERM, as do their sleeps. */
const stubborn = (next: string) =>
  sh(`
    trap '' TERM
    while :; do sleep 0.1; done &
    echo "[$$, $!]" > pids.new
    mv pids.new pids
    ${next}
  `);
const pidsOf = async (read: (name: string) => Promise<string>) => JSON.parse(await read('pids')) as [number, number];

describe('a command past its time', () => {
  test('ends with all it started, though they ignore SIGTERM', async () => {
    const { command, read } = await createWorkspace({ check: stubborn('wait') });
    const result = await command('check', { timeoutMs: 1_500 });
    expect(result).toMatchObject({ outcome: 'timeout', reason: 'Command check took longer than 2s' });
    for (const pid of await pidsOf(read)) expect(await isRunning(pid)).toBe(false);
  });

  test("has the command's time where the check has none", async () => {
    const { command } = await createWorkspace({ check: sh('sleep 60', { timeoutMs: 250 }) });
    expect(await command('check')).toMatchObject({
      outcome: 'timeout',
      reason: 'Command check took longer than 250ms',
    });
    expect((await command('check', { timeoutMs: 150 })).reason).toBe('Command check took longer than 150ms');
  });

  test('may end politely first', async () => {
    const { command, read } = await createWorkspace({
      check: sh(`trap 'echo tidied > tidied; exit 0' TERM; while :; do sleep 0.05; done`),
    });
    expect(await command('check', { timeoutMs: 1_000 })).toMatchObject({ outcome: 'timeout' });
    expect(await read('tidied')).toBe('tidied\n');
  });

  test('a time beyond what timers can count is no time at all', async () => {
    const { command } = await createWorkspace({ check: sh('exit 0') });
    expect(await command('check', { timeoutMs: 2 ** 40 })).toMatchObject({ outcome: 'pass' });
  });
});

describe('what a command leaves behind', () => {
  test('is ended, and does not hold the answer up by its pipe', async () => {
    const { command, read } = await createWorkspace({ check: stubborn('echo done; exit 0') });
    const result = await command('check');
    expect(result).toMatchObject({ outcome: 'pass', feedback: 'done' });
    for (const pid of await pidsOf(read)) expect(await isRunning(pid)).toBe(false);
  });

  test('may finish its last output', async () => {
    // The pipe's other end closes with the leader: only then does the child write.
    const { command } = await createWorkspace({
      check: sh('mkfifo pipe; (cat pipe; sleep 0.05; echo late) & exec 3> pipe; exit 1'),
    });
    expect(await command('check')).toMatchObject({ outcome: 'fail', feedback: 'late' });
  });

  // The parent of the dead leaves the group and never asks for them, as a PID 1 without an init's manners would not.
  const zombie = `
    if (!fork) { exit 0 if !fork; setpgrp; open F, '>pid.new'; print F $$; close F; rename 'pid.new', 'pid'; sleep 600 }
    select undef, undef, undef, 0.01 until -e 'pid';
    exit 0;
  `;
  test('may be zombies, for which nobody waits', async ({ skip }) => {
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
    expect(warnings).toEqual([]); // without a look at their state: that the group outlived SIGKILL
  });

  test('is out of reach where it left the group, and then nobody waits for it', async () => {
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
  test('answers at once, and the group ends', async () => {
    const { command, read } = await createWorkspace({ check: stubborn('wait') });
    const controller = new AbortController();
    const running = command('check', { signal: controller.signal });
    const pids = await pidsOf(read);
    controller.abort();
    expect(await running).toEqual({ outcome: 'error', reason: 'cancelled', tookMs: expect.any(Number) });
    expect(await isRunning(pids[0])).toBe(true); // deaf to SIGTERM, and nobody waited for SIGKILL
    for (const pid of pids) await expect.poll(() => isRunning(pid)).toBe(false);
  });

  test('before the beginning starts nothing', async () => {
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

  test('after the end means nothing, and leaves nothing on the signal', async () => {
    const { command } = await createWorkspace({ check: sh('exit 0') });
    const controller = new AbortController();
    expect(await command('check', { signal: controller.signal })).toMatchObject({ outcome: 'pass' });
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    controller.abort();
  });
});

describe('close', () => {
  test('cancels what runs and waits until it is gone', async () => {
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

  test('of the whole process, without notice, kills what runs', async () => {
    const { command, read } = await createWorkspace({ check: stubborn('wait') });
    const running = command('check');
    const pids = await pidsOf(read);
    process.listeners('exit').at(-1)?.(0);
    expect(await running).toMatchObject({ outcome: 'error', reason: 'Command check was killed by SIGKILL' });
    for (const pid of pids) expect(await isRunning(pid)).toBe(false);
  });

  test('takes its hook off the process', async () => {
    const before = process.listenerCount('exit');
    const { runner } = await createWorkspace();
    expect(process.listenerCount('exit')).toBe(before + 1);
    await runner.close();
    expect(process.listenerCount('exit')).toBe(before);
  });
});

describe('the queue', () => {
  /** Runs until it is told to go on, by a file named for its attempt. */
  const gate = sh('echo "$STOPGATE_ATTEMPT" >> begun; until test -e "go-$STOPGATE_ATTEMPT"; do sleep 0.02; done');

  test('lets so many run, the others in the order of their coming, and their time begins then', async () => {
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
    // Only the end of b lets c begin, and b's time, which c waited for, is longer than c's.
    expect((await Promise.all([b, c, e])).map((it) => it.outcome)).toEqual(['timeout', 'pass', 'pass']);
    await write('go-a', '');
    expect(await a).toMatchObject({ outcome: 'pass' });
    expect((await begun()).slice(2)).toEqual(['c', 'e']);
  });

  test('is bounded: a check beyond it is an error at once', async () => {
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

  test('a flood of 900 invented workers lets one of them run before a neighbour', async () => {
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

  test('of one worker 128 checks wait; one more, and the oldest is not judged', async () => {
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

  test('forty at once all get their answer', async () => {
    const { command } = await createWorkspace({ check: sh('exit 1') });
    const results = await Promise.all(Array.from({ length: 40 }, () => command('check')));
    expect(new Set(results.map((it) => it.outcome))).toEqual(new Set(['fail']));
  });
});
