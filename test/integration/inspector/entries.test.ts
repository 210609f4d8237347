/** Searching all entries of a log with filters and pages, and finding the last entry at a time. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openStage, type Stage } from '../../support/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ policies: { policies: { default: { checks: [{ plan: {} }], retries: 2 } } } });
  const { client } = stage;
  await client.publish('task.T-1.task.created', { title: 'First' });
  await client.publish('worker.w1.task.claimed', { task: 'T-1' });
  await client.publish('worker.w1.plan.updated', { steps: [{ title: 'Write the parser', status: 'pending' }] });
  for (const attempt of ['a1', 'a2']) await client.ask('decide.w1', { attempt });
  for (let count = 0; count < 600; count += 1)
    client.nc.publish('stopgate.main.worker.w2.tool.used', JSON.stringify({ tool: `Tool-${count}` }));
  await client.nc.flush();
  await client.ask('decide.w2', {});
  await vi.waitUntil(async () => (await seqs('type=decision')).length === 3, { timeout: 60_000 });
});
afterAll(async () => stage.close());

type Line = { seq: number; atMs: number; type: string; entity: string; id: string };
const read = async (query: string) =>
  (await stage.get(`entries?${query}`)).body as { entries: Line[]; before: number | null };
const seqs = async (query: string) => (await read(query)).entries.map(({ seq }) => seq);
const named = async (query: string) => (await read(query)).entries.map(({ type, id }) => `${id} ${type}`);

test('filters by type, worker, task, check and text, in log order', async () => {
  expect(await named('type=stop.attempted')).toEqual(['w1 stop.attempted', 'w1 stop.attempted', 'w2 stop.attempted']);
  expect(await named('type=decision&worker=w1')).toEqual(['w1 decision', 'w1 decision']);
  expect(await named('task=T-1&type=task.claimed')).toEqual(['w1 task.claimed']);
  expect(await named('check=plan')).toEqual(['w1 decision', 'w1 decision']);
  expect(await named('text=THE PARSER&type=plan.updated')).toEqual(['w1 plan.updated']);
  expect(await named('text=tool-599')).toEqual(['w2 tool.used']);
  expect(await seqs('text=nowhere')).toEqual([]);
});

test('pages have no gaps and no duplicates', async () => {
  const all = await seqs('worker=w2&limit=1000');
  expect(all.length).toBeGreaterThan(600);
  const found: number[] = [];
  let before: number | null = null;
  do {
    const page = await read(`worker=w2&limit=90${before === null ? '' : `&before=${before}`}`);
    found.unshift(...page.entries.map(({ seq }) => seq));
    before = page.before;
  } while (before !== null);
  expect(found).toEqual(all);
});

test('filters by time, and finds the last entry at a time', async () => {
  const { entries } = await read('limit=1000');
  const [from, to] = [entries[2], entries[40]] as [Line, Line];
  const expected = entries.filter(({ atMs }) => atMs >= from.atMs && atMs < to.atMs).map(({ seq }) => seq);
  expect(await seqs(`limit=1000&from=${from.atMs}&to=${to.atMs}`)).toEqual(expected);
  const seqAt = async (ms: number) => (await stage.get(`moment?ms=${ms}`)).body.seq;
  const last = entries.findLast(({ atMs }) => atMs <= from.atMs);
  expect(await seqAt(from.atMs)).toBe(last?.seq);
  expect(await seqAt(0)).toBe((await stage.get('range')).body.firstSeq);
  expect(await seqAt(Date.now() + 60_000)).toBe((await stage.get('range')).body.lastSeq);
  expect((await stage.get('moment?ms=soon')).status).toBe(400);
});

test("an agent's entry is not shown as an operator's action", async () => {
  const { nc, publish } = stage.client;
  await publish('worker.w3.heartbeat.sent', {});
  const answer = JSON.stringify({ by: 'alice', verdict: 'complete' });
  await nc.request('stopgate.main.worker.w3.escalation.resolved', answer);
  expect((await read('worker=w3&type=escalation.resolved')).entries).toMatchObject([
    { by: 'agent', text: expect.stringContaining('refused') },
  ]);
});

test('serves one request at a time, and refuses too many with service.busy', async () => {
  const replies = await Promise.all(Array.from({ length: 60 }, () => stage.get('entries?text=nowhere')));
  const statuses = replies.map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(32);
  expect((await stage.get('entries?text=nowhere')).status).toBe(200);
});
