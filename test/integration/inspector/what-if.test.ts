/** What if, as the page asks it: what `stopgate replay --diff` says of the same log, and only of the newest attempts. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWhatIf, type Difference } from '../../../machines/index.ts';
import { readConfigFile } from '../../../src/config/file-reader.ts';
import { openStage, type Stage } from '../../support/stage.ts';

let stage: Stage;
const policy = 'policies:\n  default: { retries: 1, checks: [{ plan: {} }] }\n';

beforeAll(async () => {
  stage = await openStage({ policies: { policies: { default: { checks: [{ plan: {} }] } } } });
  const { client } = stage;
  await client.publish('worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
  for (let count = 0; count < 4; count += 1) await client.ask('decide.w1');
  await client.ask('decide.w2');
});
afterAll(async () => stage.close());

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

test('differs where a replay of the log says that it does', async () => {
  const { status, body } = await stage.post('what-if', { policy });
  const expected = await compared();
  expect(status).toBe(200);
  expect(body).toMatchObject({ looked: 5, unknown: 0, more: 0 });
  expect(body.differ.map(({ attempt, before, after }: Difference) => ({ attempt, before, after }))).toEqual(
    expected.map(({ attempt, before, after }) => ({ attempt, before, after })),
  );
  expect(body.differ.map(({ guards }: { guards: string[] }) => guards)).toEqual([['checks', 'retries']]);
});

test('looks at the newest attempts alone, and still knows what came before', async () => {
  const { body } = await stage.post('what-if', { policy, last: 4 });
  expect(body.looked).toBe(4);
  expect(body.differ).toHaveLength(1);
  // The second in a row: that there was a first is known, though it is not compared.
  expect(body.differ[0].after.cause).toBe('capped');
  expect((await stage.post('what-if', { policy, last: 3 })).body).toMatchObject({ looked: 3, differ: [] });
});

test.each([
  ['policies:\n  default: { retrys: 1 }\n', { line: 2, column: 14 }],
  ['policies: [', { line: 1 }],
  ['fleet: main\n', { line: 1, column: 1, message: 'is missing' }],
])('a policy that is none is told so, with its place: %j', async (text, place) => {
  const { status, body } = await stage.post('what-if', { policy: text });
  expect(status).toBe(400);
  expect(body.error.issues[0]).toMatchObject(place);
});

test('gives the policies in force as a text that it takes back', async () => {
  const { text } = (await stage.get('policy')).body;
  expect(await stage.post('what-if', { policy: text })).toMatchObject({ status: 200, body: { looked: 5, differ: [] } });
});
