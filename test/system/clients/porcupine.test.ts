/**
 * Checks histories of concurrent clients from outside: one order of all operations must explain every answer. The
 * checker finds planted errors, in small histories and in a service with a bug. Needs Go and its modules.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { plantBug } from '../../support/planted-build.ts';
import { serveBuild } from '../../support/service.ts';
import type { Operation } from '../faults/history.ts';
import { type HistoryRun, historyRuns, judgeHistories, recordHistory } from '../faults/judged.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stopgate-histories-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let client = 0;
type Seen = Partial<Operation> & Pick<Operation, 'kind' | 'call'>;
/** Each operation has its own client. */
const seen = ({ return: end = null, answer = null, ...rest }: Seen): Operation => {
  client += 1;
  return { client, ...rest, return: end, answer };
};
const decide = (call: number, end: number, attempt: string, cause: string, count: number) =>
  seen({ kind: 'decide', call, return: end, worker: 'w', attempt, answer: { cause, count } });
const read = (call: number, end: number, count: number) =>
  seen({ kind: 'read', call, return: end, worker: 'w', answer: { count } });
const claim = (call: number, end: number | null, worker: string) =>
  seen({ kind: 'claim', call, return: end, worker, task: 'T', answer: end === null ? null : {} });
const release = (call: number, end: number, worker: string) =>
  seen({ kind: 'release', call, return: end, worker, task: 'T', answer: {} });
const held = (call: number, end: number, worker: string, tasks: readonly string[]) =>
  seen({ kind: 'held', call, return: end, worker, answer: { tasks } });
const holder = (call: number, end: number, who: string) =>
  seen({ kind: 'holder', call, return: end, task: 'T', answer: { holder: who } });

const cases: readonly { title: string; operations: readonly Operation[]; of?: string; operation?: string }[] = [
  {
    title: 'blocks up to the cap, the stop past it, and again',
    operations: [1, 2, 3, 4, 5].map((it) =>
      decide(it * 10, it * 10 + 5, `a${it}`, it === 4 ? 'capped' : 'incomplete', it === 5 ? 1 : Math.min(it, 3)),
    ),
  },
  {
    title: 'attempts at one time count in some order, and a repeated one gets its decision',
    operations: [
      decide(0, 50, 'a1', 'incomplete', 2),
      decide(0, 50, 'a2', 'incomplete', 1),
      decide(60, 70, 'a1', 'incomplete', 2),
    ],
  },
  {
    title: 'a prompt begins the count again',
    operations: [
      decide(0, 5, 'a1', 'incomplete', 1),
      seen({ kind: 'prompt', call: 10, return: 15, worker: 'w', answer: {} }),
      decide(20, 25, 'a2', 'incomplete', 1),
    ],
  },
  {
    title: 'two decisions for an attempt',
    operations: [decide(0, 5, 'a1', 'incomplete', 1), decide(10, 15, 'a1', 'incomplete', 2)],
    of: 'worker w',
    operation: 'decide w a1 -> incomplete 2',
  },
  {
    title: 'a lost count',
    operations: [decide(0, 5, 'a1', 'incomplete', 1), decide(10, 15, 'a2', 'incomplete', 1)],
    of: 'worker w',
    operation: 'decide w a2 -> incomplete 1',
  },
  {
    title: 'a block past the cap',
    operations: [1, 2, 3, 4].map((it) => decide(it * 10, it * 10 + 5, `a${it}`, 'incomplete', it)),
    of: 'worker w',
    operation: 'decide w a4 -> incomplete 4',
  },
  {
    title: 'a read that is older than an answer before it',
    operations: [decide(0, 5, 'a1', 'incomplete', 1), read(10, 15, 0)],
    of: 'worker w',
    operation: 'read w -> 0',
  },
  {
    title: 'a task goes from one holder to the next',
    operations: [
      claim(0, 5, 'v'),
      claim(10, 15, 'w'),
      held(20, 25, 'w', []),
      release(30, 35, 'v'),
      claim(40, 45, 'w'),
      held(50, 55, 'w', ['T']),
      holder(60, 65, 'w'),
    ],
  },
  {
    title: 'a claim whose answer was lost happens late',
    operations: [claim(0, null, 'v'), holder(10, 15, ''), holder(20, 25, 'v')],
  },
  {
    title: 'a claim whose answer was lost never happens',
    operations: [claim(0, null, 'v'), holder(10, 15, ''), claim(20, 25, 'w'), held(30, 35, 'w', ['T'])],
  },
  {
    title: 'two holders of a task',
    operations: [claim(0, 5, 'v'), claim(10, 15, 'w'), held(20, 25, 'v', ['T']), held(30, 35, 'w', ['T'])],
    of: 'task T',
    operation: 'held w T -> [T]',
  },
  {
    title: 'a claim that was acknowledged and lost',
    operations: [claim(0, 5, 'v'), holder(10, 15, '')],
    of: 'task T',
    operation: 'holder T -> ""',
  },
];

test('small histories: correct ones have an order, and planted errors are found and named', async () => {
  const files = cases.map((_, index) => join(folder, `case-${index}.json`));
  for (const [index, { operations }] of cases.entries())
    await writeFile(files[index] as string, JSON.stringify({ retries: 3, operations }));
  const verdicts = await judgeHistories(files);
  expect(
    verdicts.map(({ violations, unjudged }, index) => ({ title: cases[index]?.title, violations, unjudged })),
  ).toMatchObject(
    cases.map(({ title, of, operation }) => ({
      title,
      unjudged: [],
      violations: of === undefined ? [] : [{ of, operation }],
    })),
  );
});

test('an operation that the checker does not know does not pass', async () => {
  const file = join(folder, 'unknown.json');
  await writeFile(file, JSON.stringify({ retries: 3, operations: [{ ...read(0, 1, 0), kind: 'guess' }] }));
  await expect(judgeHistories([file])).rejects.toThrow('no operation is named guess');
});

test('three replicas, with kills of a replica and NATS and a cut connection: every answer is explained', async () => {
  const [run] = await historyRuns(false);
  const file = join(folder, 'alone.json');
  await recordHistory(run as HistoryRun, file, false);
  const [verdict] = await judgeHistories([file]);
  expect(verdict).toMatchObject({ parts: 6, violations: [], unjudged: [] });
  expect(verdict?.operations).toBeGreaterThan(300);
});

test.each([
  ['cap-off-by-one', /^worker /],
  ['two-holders', /^task T-/],
])('a service with the bug %s is found', async (bug, of) => {
  const { main, remove } = await plantBug(bug);
  onTestFinished(remove);
  const file = join(folder, `${bug}.json`);
  const stage = { serve: serveBuild(main), names: ['ra'] };
  await recordHistory({ name: bug, stage, faults: [], operations: 800 }, file, false);
  const [verdict] = await judgeHistories([file]);
  expect(verdict?.violations.map((it) => it.of)).toContainEqual(expect.stringMatching(of));
});
