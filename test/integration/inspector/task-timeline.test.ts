/** The timeline of a task has its claims, the entries of its holders while they held it, and the decisions about it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStage, operatorToken, type Stage } from '../../support/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage({
    policies: { policies: { default: { checks: [{ plan: {} }], retries: 9, promises: true } } },
  });
});
afterAll(async () => stage.close());

type Line = { seq: number; type: string; entity: string; id: string; data: { attempt?: string } };
type Page = { entries: Line[]; before: number | null; decision: Line | null };
const read = async (task: string, query = '') => (await stage.get(`timeline/task/${task}?${query}`)).body as Page;
const named = ({ entries }: Page) => entries.map(({ id, type }) => `${id} ${type}`);
const plan = (worker: string, status: string) =>
  stage.client.publish(`worker.${worker}.plan.updated`, { steps: [{ title: 'Write tests', status }] });
/** Decisions are stored after they are answered. */
const decided = (task: string, attempt: string) =>
  expect.poll(async () => (await read(task)).decision?.data.attempt).toBe(attempt);

test('of one holder: from the claim to the decision that completes it, and nothing after', async () => {
  const { client } = stage;
  await client.publish('task.A-1.task.created', { title: 'First' });
  await client.publish('worker.ann.tool.used', { tool: 'Before' });
  await client.publish('worker.ann.task.claimed', { task: 'A-1' });
  await plan('ann', 'pending');
  await client.ask('decide.ann', { attempt: 'a1' });
  await decided('A-1', 'a1');
  await client.publish('worker.bob.task.claimed', { task: 'A-1' }); // refused
  await client.publish('worker.bob.tool.used', { tool: 'Elsewhere' });
  await plan('ann', 'completed');
  await client.ask('decide.ann', { attempt: 'a2' });
  await decided('A-1', 'a2');
  await client.publish('worker.ann.tool.used', { tool: 'After' });
  const page = await read('A-1');
  expect(named(page)).toEqual([
    'A-1 task.created',
    'ann task.claimed',
    'ann plan.updated',
    'ann stop.attempted',
    'ann decision',
    'bob task.claimed',
    'ann plan.updated',
    'ann stop.attempted',
    'ann decision',
  ]);
  expect(page.before).toBeNull();
});

test('of two holders, in pages without gaps and duplicates', async () => {
  const { client } = stage;
  await client.publish('task.B-1.task.created', { title: 'Second' });
  await client.publish('worker.cleo.task.claimed', { task: 'B-1' });
  for (let count = 0; count < 5; count += 1) await client.publish('worker.cleo.tool.used', { tool: `T-${count}` });
  await client.publish('worker.cleo.task.released', { task: 'B-1' });
  await client.publish('worker.cleo.tool.used', { tool: 'After' });
  await client.publish('worker.dan.task.claimed', { task: 'B-1' });
  await client.publish('worker.dan.tool.used', { tool: 'Now' });
  const all = await read('B-1');
  expect(named(all)).toEqual([
    'B-1 task.created',
    'cleo task.claimed',
    ...Array.from({ length: 5 }, () => 'cleo tool.used'),
    'cleo task.released',
    'dan task.claimed',
    'dan tool.used',
  ]);
  expect(all.decision).toBeNull();
  const found: number[] = [];
  let before: number | null = null;
  do {
    const page = await read('B-1', `limit=3${before === null ? '' : `&before=${before}`}`);
    found.unshift(...page.entries.map(({ seq }) => seq));
    before = page.before;
  } while (before !== null);
  expect(found).toEqual(all.entries.map(({ seq }) => seq));
});

test('of a hold that an operator ended: up to that time', async () => {
  const { client } = stage;
  await client.publish('worker.eve.task.claimed', { task: 'C-1' });
  await client.publish('worker.eve.tool.used', { tool: 'Held' });
  expect((await stage.post('operator/retire', { id: 'eve', by: 'Ann' }, operatorToken)).status).toBe(200);
  await expect.poll(async () => (await stage.get('get/task/C-1')).body.worker).toBeNull();
  await new Promise((done) => setTimeout(done, 5)); // the time of an entry has milliseconds
  await client.publish('worker.eve.tool.used', { tool: 'After' });
  const page = await read('C-1');
  expect(named(page).slice(0, 3)).toEqual(['eve task.claimed', 'eve tool.used', 'eve worker.retired']);
  expect(named(page).filter((text) => text === 'eve tool.used')).toHaveLength(1);
});

test('a page that shows the task receives the entries of its holder', async () => {
  const { client } = stage;
  await client.publish('worker.fay.task.claimed', { task: 'D-1' });
  const stream = await stage.stream('stream?task=D-1');
  await stream.until('task');
  await client.publish('worker.fay.tool.used', { tool: 'Live' });
  await client.publish('worker.gus.tool.used', { tool: 'Elsewhere' });
  await stream.until('task', ({ entries }) => entries.some(({ type, id }) => type === 'tool.used' && id === 'fay'));
  expect(stream.all('task').flatMap(({ entries }) => entries.filter(({ id }) => id === 'gus'))).toEqual([]);
});
