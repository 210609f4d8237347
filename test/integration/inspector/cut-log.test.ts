/** The past of a truncated log, which starts from the service's snapshots (protocol.md §15). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { needsBuild } from '../../support/built.ts';
import { openStage, type Stage } from '../../support/stage.ts';

const policy = 'policies:\n  default: { retries: 1, checks: [{ plan: {} }] }\n';
const names = (rows: unknown[][]) => rows.map(([name]) => name);
let stage: Stage;
let snapshotSeq: number;
let lastSeq: number;

beforeAll(async () => {
  needsBuild();
  stage = await openStage({ policies: { policies: { default: { checks: [{ plan: {} }] } } } });
  const { client } = stage;
  await client.publish('worker.old.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
  await client.ask('decide.old');
  snapshotSeq = Number((await client.ask('snapshot.main', {})).body.seq);
  await client.publish('worker.young.tool.used', { tool: 'Bash' });
  await client.ask('decide.young');
  await client.ask('decide.old');
  // Entries after the snapshot, and half of the first worker's entries.
  await client.manager.streams.purge('STOPGATE_main', { seq: snapshotSeq });
  // It is no longer among the newest three, from which a start continues.
  for (let later = 0; later < 3; later += 1) {
    await client.publish('worker.young.heartbeat.sent', {});
    await client.ask('snapshot.main', {});
  }
  lastSeq = (await stage.get('range')).body.lastSeq;
});
afterAll(() => stage?.close());

test('shows entries covered by a snapshot, with the state from before', async () => {
  expect(names((await stage.get(`at/${snapshotSeq}`)).body.workers)).toEqual(['old']);
  expect(names((await stage.get(`at/${lastSeq}`)).body.workers)).toEqual(['old', 'young']);
  const { body } = await stage.get(`at/${lastSeq}?worker=old`);
  expect(body.view).toMatchObject({ state: 'blocked', plan: [{ title: 'Write tests' }] });
});

test('refuses other entries with a message', async () => {
  const { status, body } = await stage.get(`at/${snapshotSeq - 1}`);
  expect(status).toBe(400);
  expect(body.error.message).toContain(
    `entry ${snapshotSeq - 1} cannot be shown: the log now starts at entry ${snapshotSeq}, and the first that can be shown is ${snapshotSeq}`,
  );
});

test('the outline begins where the past can be shown', async () => {
  const read = async () => (await stage.get(`outline?from=1&to=${lastSeq}&width=1`)).body;
  await expect.poll(async () => (await read()).covered).toBeGreaterThan(0);
  const { shownFrom, firstSeq, buckets } = await read();
  expect({ shownFrom, firstSeq }).toEqual({ shownFrom: snapshotSeq, firstSeq: snapshotSeq });
  expect(buckets.at(-1).toSeq).toBe(lastSeq);
  const blocked = buckets.reduce((sum: number, bucket: { blocked: number }) => sum + bucket.blocked, 0);
  expect(blocked).toBe(1);
});

test('"what if" compares the remaining attempts with the state from before', async () => {
  const { body } = await stage.post('what-if', { policy });
  expect(body.compared).toBe(2);
  expect(body.differences.map(({ worker }: { worker: string }) => worker)).toEqual(['old']);
});
