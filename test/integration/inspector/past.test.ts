/** Time travel: the fleet at an entry equals a replay of the log up to it. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createReplay } from '../../../machines/index.ts';
import { needsBuild } from '../../support/built.ts';
import { openStage, type Stage } from '../../support/stage.ts';

let stage: Stage;
let lastSeq: number;
beforeAll(async () => {
  needsBuild();
  stage = await openStage({ policies: { policies: { default: { checks: [{ plan: {} }], retries: 2 } } } });
  const { client } = stage;
  await client.publish('task.T-1.task.created', { title: 'First', plan: [{ title: 'Write', status: 'pending' }] });
  await client.publish('worker.w1.task.claimed', { task: 'T-1' });
  for (let count = 0; count < 3; count += 1) await decide('w1', {}, count + 1);
  await client.publish('worker.w2.tool.used', { tool: 'Bash', files: ['a.ts'] });
  await decide('w2', { attempt: 'mine' }, 1);
  await client.publish('worker.w2.session.ended');
  lastSeq = (await stage.get('range')).body.lastSeq;
});
afterAll(() => stage?.close());

/** Waits for the worker's `nth` decision entry, which is stored after the answer. */
async function decide(worker: string, body: object, nth: number) {
  await stage.client.ask(`decide.${worker}`, body);
  const stored = () => stage.client.stored('STOPGATE_main', `stopgate.main.decision.${worker}`);
  await vi.waitUntil(async () => (await stored()).length === nth, { timeout: 60_000 });
}

/** A replay of the log up to `seq`. */
async function replayed(seq: number) {
  const messageAt = async (index: number) => {
    const message = await stage.client.manager.streams.getMessage('STOPGATE_main', { seq: index });
    if (message === null) throw new Error(`no entry ${index}`);
    return message;
  };
  const replay = createReplay({ untilMs: (await messageAt(seq)).time.getTime() });
  for (let index = 1; index <= seq; index += 1) {
    const message = await messageAt(index);
    const line = { at: message.time.toISOString(), subject: message.subject, data: message.json(), seq: index };
    expect(replay.fold(JSON.stringify(line))).toBeNull();
  }
  return replay.view().fleets.main;
}
const comparable = (view: object | undefined | null) => {
  // Idle times depend on when they are read, and guard times on the machine.
  const { idle: _, lastDecision, ...rest } = (view ?? {}) as { idle?: object; lastDecision?: { verdicts: object[] } };
  return { ...rest, verdicts: lastDecision?.verdicts.map((verdict) => ({ ...verdict, tookMs: 0 })) };
};

test('equals the replay at every entry, going forward and back', async () => {
  const order = [...Array(lastSeq).keys()].map((key) => key + 1);
  for (const seq of [...order, ...[...order].reverse()]) {
    const fleet = await replayed(seq);
    for (const worker of ['w1', 'w2']) {
      const { status, body } = await stage.get(`at/${seq}?worker=${worker}`);
      const view = fleet?.workers[worker];
      expect({ seq, status, view: comparable(body.view) }).toEqual({
        seq,
        status: view === undefined ? 404 : 200,
        view: comparable(view),
      });
    }
  }
});

test('returns all actors, and the entry itself', async () => {
  const { body } = await stage.get(`at/${lastSeq - 1}`);
  const names = (rows: unknown[][]) => rows.map(([name]) => name);
  expect({ workers: names(body.workers), tasks: names(body.tasks) }).toEqual({ workers: ['w1', 'w2'], tasks: ['T-1'] });
  const claim = await stage.client.manager.streams.getMessage('STOPGATE_main', {
    last_by_subj: 'stopgate.main.worker.w1.task.claimed',
  });
  expect((await stage.get(`at/${claim?.seq}`)).body.entry).toMatchObject({
    type: 'task.claimed',
    id: 'w1',
    text: 'T-1',
  });
});

test('is empty before the first entry', async () => {
  expect((await stage.get('at/0')).body).toMatchObject({ seq: 0, workers: [], tasks: [] });
});

test('a timeline is read in pages, newest first, without housekeeping entries', async () => {
  const first = (await stage.get('timeline/worker/w1?limit=4')).body;
  const second = (await stage.get(`timeline/worker/w1?limit=4&before=${first.before}`)).body;
  const types = [...second.entries, ...first.entries].map(({ type }: { type: string }) => type);
  expect(types).toEqual([
    'task.claimed',
    'stop.attempted',
    'decision',
    'stop.attempted',
    'decision',
    'stop.attempted',
    'decision',
  ]);
  expect(second.before).toBeNull();
});

test("attempts are read newest first, each with the agent's output and the decision", async () => {
  const { attempts } = (await stage.get('attempts/w1?limit=2')).body;
  const causes = attempts.map(({ decision }: { decision: { cause: string } }) => decision.cause);
  expect(causes).toEqual(['capped', 'incomplete']);
  const before = (await stage.get(`attempts/w1?before=${attempts[0].seq}`)).body.attempts;
  expect(before.map(({ seq }: { seq: number }) => seq)).toContain(attempts[1].seq);
  expect(before).toHaveLength(2);
  const [mine] = (await stage.get('attempts/w2')).body.attempts;
  expect(mine).toMatchObject({ attempt: 'mine', output: null, checks: [], decision: { attempt: 'mine' } });
  expect((await stage.get('attempts/nobody')).status).toBe(404);
});

test("a worker's download replays to the same decisions", async () => {
  const text = await (await fetch(`${stage.http.url}/api/main/history/w1.jsonl`)).text();
  const replay = createReplay();
  for (const line of text.trim().split('\n')) expect(replay.fold(line)).toBeNull();
  expect(replay.take().map((result) => ('cause' in result ? result.cause : null))).toEqual([
    'incomplete',
    'incomplete',
    'capped',
  ]);
});

test('an attempt has the work since the previous one, and whether a new prompt or task began', async () => {
  const { client, get } = stage;
  const publish = (type: string, fields: object) => client.publish(`worker.w3.${type}`, fields);
  const workOf = async () => (await get('attempts/w3?limit=2')).body.attempts.map(({ work }: { work: object }) => work);
  await publish('prompt.submitted', {});
  await publish('tool.used', { tool: 'Edit', files: ['a.ts', 'b.ts'] });
  await decide('w3', {}, 1);
  const nothing = { tools: 0, files: 0, usd: 0, tokens: 0, begun: null };
  const first = { ...nothing, tools: 1, files: 2 };
  expect(await workOf()).toMatchObject([first]);
  for (const files of [['a.ts'], ['a.ts']]) await publish('tool.used', { tool: 'Edit', files });
  await publish('usage.reported', { input: 90, output: 10, usd: 0.25 });
  await publish('usage.reported', { usd: -1 }); // refused
  await decide('w3', {}, 2);
  const second = { ...nothing, tools: 2, files: 1, usd: 0.25, tokens: 100 };
  expect(await workOf()).toMatchObject([second, first]);
  await publish('prompt.submitted', {});
  await decide('w3', {}, 3);
  expect(await workOf()).toMatchObject([{ ...nothing, begun: 'prompt' }, second]);
  await publish('task.claimed', { task: 'T-9' });
  await decide('w3', {}, 4);
  expect(await workOf()).toMatchObject([{ ...nothing, begun: 'task' }, { begun: 'prompt' }]);
});
