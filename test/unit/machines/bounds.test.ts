/** Everything that is folded has a bound (docs/protocol.md §2): at the bound it is taken, past it refused or cut. */
import { expect, test } from 'vitest';
import {
  createReplay,
  cutMiddle,
  type Decision,
  decisionBytesMax,
  feedbackLengthMax,
} from '../../../machines/index.ts';
import { useTool } from '../../../machines/worker/changes.ts';
import { changeContext, createWorkerContext } from '../../../machines/worker/context.ts';

const at = '2026-03-02T12:00:00.000Z';
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

function createLog() {
  const replay = createReplay({ untilMs: Date.parse(at) });
  const publish = (subject: string, data: object) =>
    expect(replay.fold(JSON.stringify({ at, subject: `stopgate.main.${subject}`, data }))).toBeNull();
  const view = () => {
    const { main } = replay.view().fleets;
    if (main === undefined) throw new Error('nothing was folded');
    return main;
  };
  return { publish, view, take: () => replay.take() as Decision[] };
}

test('refuses background work, scopes and held tasks of a worker beyond the limit', () => {
  const { publish, view } = createLog();
  for (const id of numbers(1_001)) publish('worker.w1.background.started', { id: `b${id}` });
  publish('worker.w1.background.started', { id: 'b1' });
  for (const id of numbers(65)) publish('worker.w2.limit.reached', { scope: `s${id}` });
  publish('worker.w2.limit.cleared', { scope: 's64' });
  for (const id of numbers(1_001)) publish('worker.w3.task.claimed', { task: `T-${id}` });
  const { w1, w2, w3 } = view().workers;
  expect(w1?.background).toHaveLength(1_000);
  expect(w1?.refused).toMatchObject([{ type: 'background.started' }]);
  expect(w2?.refused).toMatchObject([{ type: 'limit.reached' }]);
  expect(w3?.tasks).toHaveLength(1_000);
  expect(w3?.refused).toMatchObject([{ type: 'task.claimed' }]);
});

test('counts the members of all hooks of a task together, at every depth', () => {
  const { publish, view } = createLog();
  const group = (members: number) => ({ type: 'all', of: numbers(members).map(() => ({ type: 'promise' })) });
  publish('task.T.hook.registered', { hook: 'h1', type: 'any', of: [group(100), group(100)] });
  publish('task.T.hook.registered', { hook: 'h2', ...group(55) });
  publish('task.T.hook.registered', { hook: 'h3', ...group(54) });
  publish('task.T.hook.registered', { hook: 'h4', ...group(1) });
  publish('task.T.hook.registered', { hook: 'h5', type: 'promise' });
  const { T } = view().tasks;
  expect(T?.hooks.map((hook) => hook.hook)).toEqual(['h1', 'h3', 'h5']);
  expect(T?.refused).toHaveLength(2);
});

test('a thousand tasks may depend on one task', () => {
  const { publish, view } = createLog();
  for (const id of numbers(1_001)) publish(`task.D-${id}.task.created`, { after: ['T'] });
  publish('task.D-1.task.created', { after: ['T'], title: 'again' });
  const { tasks } = view();
  expect(tasks['D-999']).toMatchObject({ after: ['T'], refused: [] });
  expect(tasks).not.toHaveProperty('D-1000');
  expect(tasks['D-1']).toMatchObject({ title: 'again' });
});

test('the files of a worker drop their oldest, by number and by size, and count them', () => {
  const use = (files: readonly string[], given: string[]) => {
    const empty = createWorkerContext({ fleet: 'main', worker: 'w1', atMs: 0 });
    const event = (data: { tool: string; files: string[] }) => ({ type: 'tool.used', data, seq: 1, atMs: 1 }) as const;
    const full = changeContext(empty, useTool(empty, event({ tool: 'Edit', files: [...files] })));
    return changeContext(full, useTool(full, event({ tool: 'Edit', files: given })));
  };
  const many = use(
    numbers(5_000).map((n) => `f${n}`),
    ['f1', 'new'],
  );
  expect(many.files).toHaveLength(5_000);
  expect([many.files[0], many.files.at(-1), many.filesDropped]).toEqual(['f1', 'new', 1]);
  const long = use(
    numbers(512).map((n) => String(n).padEnd(1_024, 'x')),
    ['é'],
  );
  expect([long.files.length, long.filesBytes, long.filesDropped]).toEqual([512, 511 * 1_024 + 2, 1]);
});

// 64 hooks of 600 members took 700 MB here, on every replica and at every restart.
test('every decision fits into one message', () => {
  const { publish, take } = createLog();
  publish('worker.w1.task.claimed', { task: 'T' });
  for (const id of numbers(64)) {
    const hook = `h${id}${'x'.repeat(120)}`;
    publish('task.T.hook.registered', { hook, type: 'any', of: numbers(4).map(() => ({ type: 'validation' })) });
  }
  const validation = numbers(150).map((n) => ({ rule: `${n}${'\u0007'.repeat(60)}`, passed: false }));
  publish('worker.w1.stop.attempted', { validation });
  const [decision] = take();
  expect(decision).toMatchObject({ decision: 'block', cause: 'incomplete' });
  expect(decision?.reason).toHaveLength(500);
  expect(Buffer.byteLength(JSON.stringify(decision))).toBeLessThanOrEqual(decisionBytesMax);
});

test('feedback is cut in the middle', () => {
  const { publish, take } = createLog();
  publish('own.fleet.main.policy.set', { policies: { default: { checks: [{ command: 'tests' }] } } });
  publish('worker.w1.stop.attempted', { attempt: 'a' });
  const feedback = `${'A'.repeat(5_000)}${'B'.repeat(5_000)}`;
  publish('own.worker.w1.check.finished', { attempt: 'a', check: 'tests', outcome: 'fail', feedback });
  const [decision] = take();
  expect(decision?.feedback[0]?.details).toMatch(/^A{999,}…B{999,}$/);
  expect(decision?.feedback[0]?.details).toHaveLength(feedbackLengthMax);
  expect(decision?.nextPrompt).toMatch(/A…B/);
});

test('cutting a text never splits a code point', () => {
  const text = '😀'.repeat(300);
  expect(cutMiddle(text, 300)).toBe(text);
  expect([...cutMiddle(text, 101)]).toHaveLength(101);
  expect(cutMiddle(`x${text}`, 6)).toBe('x😀😀…😀😀');
});

test('hooks whose globs exceed the step limit are errors, and the stop is not judged complete', () => {
  const { publish, take } = createLog();
  publish('worker.w1.task.claimed', { task: 'T' });
  publish('worker.w1.tool.used', { tool: 'Edit', files: numbers(60).map((n) => `${n}${'a'.repeat(900)}`) });
  const when = { filesMatch: `?${'*a'.repeat(120)}*b*a` };
  publish('task.T.hook.registered', { hook: 'slow', type: 'promise', when, onError: 'skip' });
  publish('worker.w1.stop.attempted', {});
  const [decision] = take();
  expect(decision).toMatchObject({ decision: 'allow', action: 'continue', cause: 'unjudged' });
  expect(decision?.reason).toContain('step limit');
});
