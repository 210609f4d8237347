/** What-if over HTTP gives the same result as `stopgate replay --diff`, but only for the newest attempts. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWhatIf, type Difference } from '../../../machines/index.ts';
import { readConfigFile } from '../../../src/config/file-reader.ts';
import { needsBuild } from '../../support/built.ts';
import { openStage, type Stage } from '../../support/stage.ts';

let stage: Stage;
const policy = 'policies:\n  default: { retries: 1, checks: [{ plan: {} }] }\n';

beforeAll(async () => {
  needsBuild();
  stage = await openStage({ policies: { policies: { default: { checks: [{ plan: {} }] } } } });
  const { client } = stage;
  await client.publish('worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
  for (let count = 0; count < 4; count += 1) await client.ask('decide.w1');
  await client.ask('decide.w2');
});
afterAll(() => stage?.close());

async function compared(): Promise<Difference[]> {
  const read = readConfigFile(policy, 'new.yaml');
  if (!read.ok) throw new Error('the policy is bad');
  const whatIf = createWhatIf({ policies: read.file.policySet });
  const { lastSeq } = (await stage.get('range')).body;
  for (let seq = 1; seq <= lastSeq; seq += 1) {
    const message = await stage.client.manager.streams.getMessage('STOPGATE_main', { seq });
    if (message === null) throw new Error(`no entry ${seq}`);
    const { subject, time, data } = message;
    whatIf.foldMessage({ seq, atMs: time.getTime(), subject, text: message.string(), bytes: data.length });
  }
  whatIf.end();
  return whatIf.take();
}

test('finds the same differences as a replay of the log', async () => {
  const { status, body } = await stage.post('what-if', { policy });
  const expected = await compared();
  expect(status).toBe(200);
  expect(body).toMatchObject({ compared: 5, unknown: 0, omitted: 0 });
  expect(body.differences.map(({ attempt, before, after }: Difference) => ({ attempt, before, after }))).toEqual(
    expected.map(({ attempt, before, after }) => ({ attempt, before, after })),
  );
  expect(body.differences.map(({ guards }: { guards: string[] }) => guards)).toEqual([['checks', 'retries']]);
});

test('the policies apply from the first compared attempt; the state before is unchanged', async () => {
  const { body } = await stage.post('what-if', { policy, last: 3 });
  expect(body.compared).toBe(3);
  // The third block in a row: the two earlier blocks count, although they are not compared.
  expect(body.differences.map(({ after }: Difference) => after?.cause)).toEqual(['capped', 'incomplete']);
  expect((await stage.post('what-if', { policy, last: 1 })).body).toMatchObject({ compared: 1, differences: [] });
});

test('a time after the last attempt compares nothing', async () => {
  const since = new Date(Date.now() + 3_600_000).toISOString();
  expect((await stage.post('what-if', { policy, since })).body).toMatchObject({ compared: 0, differences: [] });
});

test.each([
  ['policies:\n  default: { retrys: 1 }\n', { line: 2, column: 14 }],
  ['policies: [', { line: 1 }],
  ['fleet: main\n', { line: 1, column: 1, message: 'is missing' }],
])('an invalid policy is reported with its position: %j', async (text, place) => {
  const { status, body } = await stage.post('what-if', { policy: text });
  expect(status).toBe(400);
  expect(body.error.issues[0]).toMatchObject(place);
});

test('returns the policies in force as a text that it accepts again', async () => {
  const { text } = (await stage.get('policy')).body;
  expect(await stage.post('what-if', { policy: text })).toMatchObject({
    status: 200,
    body: { compared: 5, differences: [] },
  });
});
