/** What is wrong in itself, or makes no sense now: a clear error that changes nothing, and the next one is served. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { matchesGlob } from '../../machines/policy/glob.ts';
import { readConfigFile } from '../../src/config/file-reader.ts';
import { type Live, startLive } from './live.ts';
import { play } from './play.ts';

let live: Live;
beforeAll(async () => {
  const checked = (remote: string) => ({ checks: [{ remote, timeout: '300ms', onError: 'block' }] });
  live = await startLive({
    default: {},
    nonsense: checked('nonsense'),
    late: checked('late'),
    twice: checked('twice'),
    never: checked('never'),
  });
});
afterAll(() => live.close());

/** The dead letters about a task, once there are so many. */
async function dead(task: string, count = 1): Promise<Record<string, unknown>[]> {
  const read = () => live.client.stored('STOPGATE-DEAD_main', `stopgate.main.dead.task.${task}`);
  await expect.poll(async () => (await read()).length).toBe(count);
  return read();
}
const hook = (task: string, data: object) => live.client.publish(`task.${task}.hook.registered`, data);

describe('a hook', () => {
  test('of an unknown type is refused, with the types that there are', async () => {
    await hook('T-1', { hook: 'good', type: 'default' });
    const before = await live.task('T-1');
    await hook('T-1', { hook: 'bad', type: 'magic' });
    const [letter] = await dead('T-1');
    expect(letter).toMatchObject({ code: 'BAD_SHAPE', data: '{"hook":"bad","type":"magic"}' });
    for (const type of ['default', 'validation', 'promise', 'remote']) expect(letter?.message).toContain(`"${type}"`);
    expect(await live.task('T-1')).toEqual(before);
  });

  test('on an unknown task creates it, in no queue: so nobody is told that work waits', async () => {
    expect((await live.client.ask('get.task.T-2')).code).toBe('404');
    await hook('T-2', { type: 'default' });
    expect(await live.task('T-2')).toMatchObject({ state: 'idle', queue: null, hooks: [{ hook: 'hook-1' }] });
  });

  test('with the id of another is refused; the first stays as it was', async () => {
    await hook('T-3', { hook: 'h1', type: 'promise' });
    await hook('T-3', { hook: 'h1', type: 'validation' });
    expect(await live.task('T-3')).toMatchObject({
      hooks: [{ hook: 'h1', type: 'promise' }],
      refused: [{ type: 'hook.registered', reason: 'hook h1 exists' }],
    });
  });

  test('too many: the 65th is refused, the 64 stay', async () => {
    for (let count = 1; count <= 65; count += 1) await hook('T-4', { type: 'promise' });
    const { hooks, refused } = await live.task('T-4');
    expect(hooks).toHaveLength(64);
    expect(refused).toMatchObject([{ reason: 'task T-4 has 64 hooks, the most there may be' }]);
  });

  test('that holds itself cannot be written, and one that is nested like it is refused', async () => {
    const cyclic: { type: string; of: unknown[] } = { type: 'all', of: [] };
    cyclic.of.push(cyclic);
    expect(() => JSON.stringify(cyclic)).toThrow(/circular/i);
    let nested: object = { type: 'promise' };
    for (let depth = 0; depth < 5; depth += 1) nested = { type: 'all', of: [nested] };
    await hook('T-5', nested);
    expect(await dead('T-5')).toMatchObject([
      { code: 'BAD_SHAPE', message: expect.stringContaining('hooks may nest 4 deep') },
    ]);
    expect((await live.client.ask('get.task.T-5')).code).toBe('404');
  });

  test('that holds itself by an alias of YAML is no policy: the file is refused with line and column', () => {
    const text = 'policies:\n  default:\n    checks:\n      - &a { all: [{ plan: {} }, *a] }\n';
    expect(readConfigFile(text, '/srv/stopgate.yaml')).toMatchObject({
      ok: false,
      problems: [{ line: 4, column: 34, message: expect.stringContaining('an alias within itself') }],
    });
  });

  test.each([
    ['a group of nothing', { type: 'all', of: [] }],
    ['a group without members', { type: 'any' }],
    ['a remote one without a name', { type: 'remote' }],
    ['a glob of 257 characters', { type: 'promise', when: { filesMatch: 'a'.repeat(257) } }],
    ['an id that is none', { type: 'promise', hook: 'a b' }],
  ])('%s is refused', (_what, data) => {
    const loop = play();
    expect(() => loop.say('12:00', 'task.T.hook.registered', data)).toThrow();
    expect(loop.look('12:00').tasks).toEqual({});
  });
});

test('a glob built to be slow takes time as its path grows, and no more', () => {
  const glob = `${'*a'.repeat(100)}b`;
  const fastest = (length: number) => {
    const path = 'a'.repeat(length);
    const times = Array.from({ length: 7 }, () => {
      const startedMs = performance.now();
      expect(matchesGlob(glob, path)).toBe(false);
      return performance.now() - startedMs;
    });
    return Math.min(...times);
  };
  fastest(2_000); // compiled by then
  const growth = fastest(16_000) / fastest(2_000);
  expect(growth).toBeLessThan(32); // 8 times as long: 8 where it is linear, 64 where it is quadratic
});

describe('an iteration', () => {
  test('that has ended is not judged again: no result, and the task is as it was', () => {
    const loop = play();
    loop.say('12:00', 'task.T.iteration.started', { iteration: 1, maxIterations: 3 });
    loop.say('12:01', 'task.T.iteration.completed', { iteration: 1, promise: 'COMPLETE' });
    const before = loop.look('12:01').tasks.T;
    expect(loop.validate('12:02', 'T', { iteration: 1, output: '<promise>COMPLETE</promise>' })).toBeNull();
    loop.say('12:02', 'task.T.iteration.advanced');
    loop.say('12:02', 'task.T.iteration.completed', { iteration: 1, promise: 'BLOCKED' });
    expect(loop.refused()).toEqual(Array(3).fill('iteration 1 is completed'));
    expect({ ...loop.look('12:02').tasks.T, refused: [] }).toEqual(before);
  });

  test.each([
    ['that was never started', [], 1, 'no iteration was started'],
    ['that is not the current one', [1], 2, 'iteration 2 is not the current one, 1'],
  ])('%s gets no result', (_what, started, iteration, reason) => {
    const loop = play();
    loop.say('12:00', 'task.T.task.created');
    for (const number of started) {
      loop.say('12:00', 'task.T.iteration.started', { iteration: number, maxIterations: 3 });
    }
    expect(loop.validate('12:01', 'T', { iteration })).toBeNull();
    expect(loop.refused()).toEqual([reason]);
  });
});

describe('a promise of one megabyte', () => {
  const huge = `<promise>COMPLETE</promise>${'x'.repeat(1_000_000)}`;

  test('in a request is answered with 400 at once, and nothing is logged', async () => {
    const answer = await live.client.ask('decide.w-huge', { output: huge });
    expect(answer).toMatchObject({ code: '400', body: { error: { code: 'TOO_LARGE' } } });
    expect(answer.body.error.message).toContain('65536');
    expect((await live.client.ask('get.worker.w-huge')).code).toBe('404');
  });

  test('in an entry is a dead letter that keeps its beginning; the task is as it was', async () => {
    await live.client.publish('task.T-6.iteration.started', { iteration: 1, maxIterations: 3 });
    const before = await live.task('T-6');
    await live.client.publish('task.T-6.iteration.validated', { iteration: 1, output: huge });
    const [letter] = await dead('T-6');
    expect(letter).toMatchObject({ code: 'TOO_LARGE', message: expect.stringContaining('65536') });
    expect(String(letter?.data).length).toBeLessThanOrEqual(8_192);
    expect(await live.task('T-6')).toEqual(before);
  });

  test('within the limit is read to its end', async () => {
    const output = `${'x '.repeat(30_000)}<promise>COMPLETE</promise>`;
    await hook('T-7', { type: 'promise' });
    await live.client.publish('worker.w-7.task.claimed', { task: 'T-7' });
    expect(await live.stop('w-7', { output })).toMatchObject({ decision: 'allow', cause: 'complete' });
  });
});

describe('a remote check that answers', () => {
  const begin = (name: string) => live.client.publish(`worker.${name}.worker.registered`, { policy: name });
  const finished = (name: string) =>
    live.client.stored('STOPGATE_main', `stopgate.main.own.worker.${name}.check.finished`);

  test('nonsense is in error, and says so', async () => {
    await live.serve('nonsense', () => ({ verdict: 'fine' }));
    await begin('nonsense');
    expect(await live.stop('nonsense')).toMatchObject({
      decision: 'block',
      reason: 'check nonsense replied in a form that is not known',
      feedback: [{ outcome: 'error' }],
    });
  });

  test('never is in error when its time is up', async () => {
    await live.serve('never', () => null);
    await begin('never');
    const decision = await live.stop('never');
    expect(decision).toMatchObject({ decision: 'block', feedback: [{ check: 'never', outcome: 'timeout' }] });
  });

  test('late is not heard: the decision stands, and there is one', async () => {
    let answered = false;
    live.client.nc.subscribe('stopgate.main.check.late', {
      callback: (_error, message) =>
        void setTimeout(() => {
          answered = message.respond('{"complete":true}');
        }, 600),
    });
    await begin('late');
    const decision = await live.stop('late', { attempt: 'a1' });
    expect(decision).toMatchObject({ decision: 'block', feedback: [{ outcome: 'timeout' }] });
    await expect.poll(() => answered).toBe(true);
    expect(await live.stop('late', { attempt: 'a1' })).toEqual(decision);
    expect(await live.worker('late')).toMatchObject({ state: 'blocked', retry: { count: 1 } });
    expect(await live.client.stored('STOPGATE_main', 'stopgate.main.decision.late')).toHaveLength(1);
  });

  test('twice is heard once: the first answer counts', async () => {
    live.client.nc.subscribe('stopgate.main.check.twice', {
      callback(_error, message) {
        message.respond('{"complete":false,"reason":"first"}');
        message.respond('{"complete":true}');
      },
    });
    await begin('twice');
    expect(await live.stop('twice')).toMatchObject({ decision: 'block', reason: 'first' });
    expect(await live.worker('twice')).toMatchObject({ state: 'blocked', retry: { count: 1 } });
    expect(await finished('twice')).toMatchObject([{ outcome: 'fail', reason: 'first' }]);
  });

  test('without being asked is passed over: an answer to no open attempt changes nothing', () => {
    const day = play({ default: { checks: [{ remote: 'scan' }] } });
    day.say('12:00', 'worker.w.worker.registered');
    const before = day.look('12:00').workers.w;
    day.say('12:00', 'own.worker.w.check.finished', { attempt: 'a1', check: 'scan', outcome: 'pass' });
    expect(day.look('12:00').workers.w).toEqual(before);
    expect(day.stop('12:00', 'w', { attempt: 'a1' })).toBeNull();
    day.say('12:00', 'own.worker.w.check.finished', { attempt: 'a1', check: 'other', outcome: 'pass' });
    expect(day.look('12:00').workers.w).toMatchObject({ state: 'validating' });
  });
});
