/** What an agent may write into its own entries must not stop, mislead or stall the fold of everybody's. */
import { describe, expect, test, vi } from 'vitest';
import { createReplay, type Decision, jsonDepthMax, readEntry } from '../../../machines/index.ts';
import { useTool } from '../../../machines/worker/changes.ts';
import { createWorkerContext } from '../../../machines/worker/context.ts';

const line = (subject: string, data: object = {}) =>
  JSON.stringify({ at: '2026-03-02T12:00:00.000Z', subject: `stopgate.main.${subject}`, data });
const read = (tail: string, text: string) => readEntry(`stopgate.main.${tail}`, text, text.length);

describe('names that every object has', () => {
  // `areas['constructor']` was a function, and reading on from it threw in the fold of every replica.
  test.each(['constructor', '__proto__', 'own.constructor', 'own.toString'])('%s is no entity', (entity) => {
    expect(read(`${entity}.x.tool.used`, '{}')).toMatchObject({ code: 'UNKNOWN_TYPE' });
  });

  // What was found out is kept by the check's name, and `constructor` seemed to be found out already.
  test.each(['constructor', 'valueOf', 'plan'])('a check may be named %s, and fails', (name) => {
    const replay = createReplay();
    const policies = { default: { checks: [{ plan: {}, name }] } };
    replay.fold(line('own.fleet.main.policy.set', { policies }));
    replay.fold(line('worker.w1.plan.updated', { steps: [{ title: 'a', status: 'pending' }] }));
    replay.fold(line('worker.w1.stop.attempted'));
    expect((replay.take()[0] as Decision).decision).toBe('block');
  });

  test('a remote hook may be named constructor, and is asked', () => {
    const replay = createReplay();
    replay.fold(line('worker.w1.task.claimed', { task: 'T' }));
    replay.fold(line('task.T.hook.registered', { hook: 'constructor', type: 'remote', name: 'security' }));
    replay.fold(line('worker.w1.stop.attempted'));
    expect(replay.take()).toEqual([]);
    expect(replay.open()).toMatchObject([{ waitsFor: 'security' }]);
  });
});

describe('deep nesting', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

  // The schema of hooks walks into itself, and a payload of 55 KB ended its stack.
  test('hooks in hooks are refused as a bad shape, however deep', () => {
    const depth = 2_500;
    const hooks = `${'{"type":"all","of":['.repeat(depth)}{"type":"tdd"}${']}'.repeat(depth)}`;
    expect(read('task.T.hook.registered', hooks)).toMatchObject({ code: 'BAD_SHAPE' });
  });

  test('free-form values have a nesting limit too, so that they can be shown', () => {
    const saved = (depth: number) => read('task.T.checkpoint.saved', `{"checkpoint":"c","context":${nested(depth)}}`);
    expect(saved(jsonDepthMax - 1)).toMatchObject({ type: 'checkpoint.saved' });
    expect(saved(jsonDepthMax)).toMatchObject({ code: 'BAD_SHAPE' });
  });

  test('a line of a replay is reported', () => {
    const subject = 'stopgate.main.task.T.checkpoint.saved';
    const data = `{"checkpoint":"c","context":${nested(30_000)}}`;
    const text = `{"at":"2026-03-02T12:00:00.000Z","subject":"${subject}","data":${data}}`;
    expect(createReplay().fold(text)).toContain('nest');
    expect(createReplay().fold(`{"at":${nested(30_000)},"subject":"${subject}"}`)).toContain('not a time');
  });
});

test.each(['null', '[]', '3', '"text"'])('a line of a replay that is %s is reported', (text) => {
  expect(createReplay().fold(text)).toBe('is not a JSON object');
});

// The schema would read all of it, and list each of a thousand faults.
test('a list with too many items is one fault, whatever is in it', () => {
  expect(read('worker.w1.stop.attempted', JSON.stringify({ validation: Array(1_000).fill(null) }))).toMatchObject({
    code: 'BAD_SHAPE',
    message: 'validation: has 1000 items; the limit is 256',
    issues: [{ path: 'validation' }],
  });
});

test('names of awaited work are cut in a decision, which must fit into one message', () => {
  const replay = createReplay();
  for (let count = 0; count < 40; count += 1) {
    replay.fold(line('worker.w1.background.started', { id: `${count}${'x'.repeat(1_000)}` }));
  }
  replay.fold(line('worker.w1.stop.attempted'));
  const [decision] = replay.take();
  expect(decision).toMatchObject({ cause: 'waiting' });
  expect(JSON.stringify(decision).length).toBeLessThan(16_000);
});

// Comparing each with each took seconds of every replica.
test('many files are not searched for one by one in the files that are known', () => {
  const known = Array.from({ length: 1_000 }, (_, index) => `a${index}`);
  const includes = vi.spyOn(known, 'includes');
  const context = { ...createWorkerContext({ fleet: 'main', worker: 'w1', atMs: 0 }), files: known };
  const given = known.map((file) => `${file}.new`);
  const after = useTool(context, { type: 'tool.used', data: { tool: 'Edit', files: given }, seq: 1, atMs: 1 });
  expect(after.files).toHaveLength(2_000);
  expect(includes).not.toHaveBeenCalled();
});
