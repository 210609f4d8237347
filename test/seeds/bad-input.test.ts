/** Malformed input, or input that is invalid in the current state, gets a clear error and changes nothing. */
import { describe, expect, test } from 'vitest';
import { createWork, matchesAny } from '../../machines/policy/glob.ts';
import { readConfigFile } from '../../src/config/file-reader.ts';
import type { SeedService } from './service.ts';
import { stage } from './stage.ts';
import { createVirtualLog } from './virtual-log.ts';

/** Returns the first dead letter about this task. */
async function deadLetter({ wire }: SeedService, task: string): Promise<Record<string, unknown> | undefined> {
  const read = () => wire.stored('STOPGATE-DEAD_main', `stopgate.main.dead.task.${task}`);
  await expect.poll(async () => (await read()).length).toBe(1);
  return (await read())[0];
}
const taskAfter = (hook: object, ...more: readonly object[]) => {
  const log = createVirtualLog();
  for (const data of [hook, ...more]) log.publish('12:00', 'task.T.hook.registered', data);
  return log.viewAt('12:00').tasks.T;
};

describe('a hook', () => {
  stage('of an unknown type is refused, and the types there are are named', async ({ service }) => {
    const task = await service.task([{ type: 'default' }]);
    const before = await task.view();
    await task.publish('hook.registered', { hook: 'bad', type: 'magic' });
    const letter = await deadLetter(service, task.id);
    expect(letter).toMatchObject({ code: 'BAD_SHAPE', data: '{"hook":"bad","type":"magic"}' });
    for (const type of ['default', 'validation', 'promise', 'remote']) expect(letter?.message).toContain(`"${type}"`);
    expect(await task.view()).toEqual(before);
  });

  test('on an unknown task creates the task, but in no queue, so no worker gets it', () => {
    expect(taskAfter({ type: 'default' })).toMatchObject({ state: 'idle', queue: null, hooks: [{ hook: 'hook-1' }] });
  });

  test('with the id of another hook is refused, and the first is unchanged', () => {
    expect(taskAfter({ hook: 'h1', type: 'promise' }, { hook: 'h1', type: 'validation' })).toMatchObject({
      hooks: [{ hook: 'h1', type: 'promise' }],
      refused: [{ type: 'hook.registered', reason: 'hook h1 exists' }],
    });
  });

  stage('that is nested too deep is refused', async ({ service }) => {
    const nest = (depth: number): object =>
      depth === 0 ? { type: 'promise' } : { type: 'all', of: [nest(depth - 1)] };
    const task = service.newId('T');
    await service.wire.publish(`task.${task}.hook.registered`, nest(5));
    expect(await deadLetter(service, task)).toMatchObject({
      code: 'BAD_SHAPE',
      message: expect.stringContaining('hooks may nest 4 deep'),
    });
    expect((await service.wire.ask(`get.task.${task}`)).code).toBe('404');
    expect(taskAfter(nest(4))?.hooks).toHaveLength(1);
  });

  test('that contains itself cannot be written', () => {
    const cyclic: { type: string; of: unknown[] } = { type: 'all', of: [] };
    cyclic.of.push(cyclic);
    expect(() => taskAfter(cyclic)).toThrow(/circular/i);
  });

  test.each([
    ['a group of nothing', { type: 'all', of: [] }],
    ['a group without members', { type: 'any' }],
    ['a remote one without a name', { type: 'remote' }],
    ['a glob of 257 characters', { type: 'promise', when: { filesMatch: 'a'.repeat(257) } }],
    ['an id that is none', { type: 'promise', hook: 'a b' }],
  ])('%s is refused', (_what, data) => {
    const log = createVirtualLog();
    expect(() => log.publish('12:00', 'task.T.hook.registered', data)).toThrow();
    expect(log.viewAt('12:00').tasks).toEqual({});
  });
});

test('a check that contains itself through a YAML alias is refused with its line and column', () => {
  const text = 'policies:\n  default:\n    checks:\n      - &a { all: [{ plan: {} }, *a] }\n';
  expect(readConfigFile(text, '/srv/stopgate.yaml')).toMatchObject({
    ok: false,
    problems: [{ line: 4, column: 34, message: expect.stringContaining('an alias contains itself') }],
  });
});

/** A backtracking matcher would not finish. */
test('a glob that was made to be slow is matched quickly', () => {
  const glob = `${'*a'.repeat(100)}b`;
  expect(matchesAny(glob, [['a'.repeat(1_024)]], createWork())).toBe(false);
  expect(matchesAny(glob, [[`${'a'.repeat(1_024)}b`]], createWork())).toBe(true);
});

describe('an iteration', () => {
  test('that has ended is not judged again: no result, and the task is unchanged', () => {
    const log = createVirtualLog();
    log.publish('12:00', 'task.T.iteration.started', { iteration: 1, maxIterations: 3 });
    log.publish('12:01', 'task.T.iteration.completed', { iteration: 1, promise: 'COMPLETE' });
    const before = log.viewAt('12:01').tasks.T;
    expect(log.validate('12:02', 'T', { iteration: 1, output: '<promise>COMPLETE</promise>' })).toBeNull();
    log.publish('12:02', 'task.T.iteration.advanced');
    log.publish('12:02', 'task.T.iteration.completed', { iteration: 1, promise: 'BLOCKED' });
    expect(log.refusals()).toEqual(Array(3).fill('iteration 1 is completed'));
    expect({ ...log.viewAt('12:02').tasks.T, refused: [] }).toEqual(before);
  });

  test.each([
    ['that was never started', [], 1, 'no iteration was started'],
    ['that is not the current one', [1], 2, 'iteration 2 is not the current one, 1'],
  ])('%s gets no result', (_what, started, iteration, reason) => {
    const log = createVirtualLog();
    log.publish('12:00', 'task.T.task.created');
    for (const number of started)
      log.publish('12:00', 'task.T.iteration.started', { iteration: number, maxIterations: 3 });
    expect(log.validate('12:01', 'T', { iteration })).toBeNull();
    expect(log.refusals()).toEqual([reason]);
  });
});

describe('an output of one megabyte', () => {
  const huge = `<promise>COMPLETE</promise>${'x'.repeat(1_000_000)}`;

  stage('in a request is answered with 400, and nothing is logged', async ({ service }) => {
    const answer = await service.wire.ask('decide.w-huge', { output: huge });
    expect(answer).toMatchObject({ code: '400', body: { error: { code: 'TOO_LARGE' } } });
    expect(answer.body.error.message).toContain('65536');
    expect((await service.wire.ask('get.worker.w-huge')).code).toBe('404');
  });

  stage(
    'in an entry is not stored; a smaller one is a dead letter with its beginning; the task is as it was',
    async ({ service }) => {
      const task = await service.task([]);
      const before = await task.view();
      await expect(task.publish('iteration.validated', { iteration: 1, output: huge })).rejects.toThrow(/size exceeds/);
      await task.publish('iteration.validated', { iteration: 1, output: huge.slice(0, 66_000) });
      const letter = await deadLetter(service, task.id);
      expect(letter).toMatchObject({ code: 'TOO_LARGE', message: expect.stringContaining('65536') });
      expect(String(letter?.data).length).toBeLessThanOrEqual(8_192);
      expect(await task.view()).toEqual(before);
    },
  );

  stage('is refused; one of 60 KB is read to its end', async ({ service }) => {
    const [task, worker] = [await service.task([{ type: 'promise' }]), await service.worker(null)];
    await worker.publish('task.claimed', { task: task.id });
    const output = `${'x '.repeat(30_000)}<promise>COMPLETE</promise>`;
    expect(await worker.stop({ output })).toMatchObject({ decision: 'allow', cause: 'complete' });
  });
});

test('an answer to a check that nobody asked changes nothing', () => {
  const log = createVirtualLog({ default: { checks: [{ remote: 'scan' }] } });
  log.publish('12:00', 'worker.w.worker.registered');
  const before = log.viewAt('12:00').workers.w;
  log.publish('12:00', 'own.worker.w.check.finished', { attempt: 'a1', check: 'scan', outcome: 'pass' });
  expect(log.viewAt('12:00').workers.w).toEqual(before);
  expect(log.stop('12:00', 'w', { attempt: 'a1' })).toBeNull();
  log.publish('12:00', 'own.worker.w.check.finished', { attempt: 'a1', check: 'other', outcome: 'pass' });
  expect(log.viewAt('12:00').workers.w).toMatchObject({ state: 'validating' });
});
