/** `GET /api/<fleet>/statistics` counts from the log, and continues where the last request ended. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FleetStatistics } from '../../../src/inspector/messages.ts';
import { needsBuild } from '../../support/built.ts';
import { openStage, type Stage } from '../../support/stage.ts';

let stage: Stage;
beforeAll(async () => {
  needsBuild();
  stage = await openStage({ policies: { policies: { default: { checks: [{ plan: {} }] } } } });
});
afterAll(() => stage?.close());

const read = async (span: string) => {
  const { status, body } = await stage.get(`statistics?span=${span}`);
  return { status, body: body as FleetStatistics };
};
const blocked = ({ buckets }: FleetStatistics) => buckets.reduce((all, { verdicts }) => all + verdicts.blocked, 0);

test('counts the stops of the fleet, and keeps counting', async () => {
  await stage.client.publish('worker.s1.plan.updated', { steps: [{ title: 'Fix lint', status: 'pending' }] });
  await stage.client.ask('decide.s1');
  // The decision is in the log a moment after its reply.
  await expect.poll(async () => blocked((await read('hour')).body)).toBe(1);
  await stage.client.ask('decide.s1');
  for (const span of ['hour', 'day', 'week']) await expect.poll(async () => blocked((await read(span)).body)).toBe(2);
  const { body } = await read('week');
  expect(body).toMatchObject({ span: 'week', knownFromMs: null, checks: [{ check: 'plan', blocks: 2 }] });
  // The two stops may lie on both sides of an hour.
  expect(body.buckets.reduce((sum, { guards }) => sum + (guards.checks ?? 0), 0)).toBe(2);
});

test('counts a range, with the same filters as the search', async () => {
  const body = async (query: string) => (await stage.get(query)).body;
  const [first] = (await body('entries?type=decision&outcome=blocked&guard=checks')).entries;
  const range = (fromMs: number, toMs: number) => `from=${fromMs}&to=${toMs}`;
  const within = await body(`statistics?${range(first.atMs, first.atMs + 1)}`);
  expect(within).toMatchObject({ span: 'custom', fromMs: first.atMs, toMs: first.atMs + 1, bucketMs: 1_000 });
  const { entries } = await body(`entries?outcome=blocked,complete&${range(first.atMs, first.atMs + 1)}`);
  expect(blocked(within)).toBe(entries.length);
  expect(blocked(await body(`statistics?${range(first.atMs - 60_000, first.atMs)}`))).toBe(0);
  for (const none of ['outcome=complete', 'outcome=fail', 'guard=idle', 'type=decision&outcome=superseded'])
    expect((await body(`entries?${none}`)).entries).toEqual([]);
});

test('a forged decision does not count, and does not end the fold of the past', async () => {
  const forged = { decision: 'block', action: 'continue', cause: 'incomplete', feedback: [null], verdicts: [null] };
  const before = blocked((await read('hour')).body);
  await stage.client.nc.request('stopgate.main.worker.forged.decision', JSON.stringify(forged));
  const { status, body } = await read('hour');
  expect([status, blocked(body)]).toEqual([200, before]);
  const { entries } = (await stage.get('entries?worker=forged')).body;
  expect(entries).toMatchObject([{ type: 'decision.', by: 'agent', text: expect.stringContaining('refused') }]);
});

test.each([
  ['from=1', 'both'],
  ['from=2&to=2', 'before'],
  ['from=0&to=2678400001', '31 days'],
])('refuses the range %s', async (query, why) => {
  const { status, body } = await stage.get(`statistics?${query}`);
  expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining(why)]);
});

test('refuses an unknown span', async () => {
  expect((await read('year')).status).toBe(400);
});
