/** The history process behind the API: progress, cancelling, limits, logging, and crashes. */
import { Objm } from '@nats-io/obj';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { snapshotFormat } from '../../../machines/index.ts';
import { createHistory } from '../../../src/inspector/history/history.ts';
import { createLogger } from '../../../src/log.ts';
import { readPosition } from '../../../src/nats/log/log-continuity.ts';
import { needsBuild } from '../../support/built.ts';
import { openStage, type Stage } from '../../support/stage.ts';

/** Folding them takes longer than the time between two reports of progress. */
const entries = 12_000;
let stage: Stage;
beforeAll(async () => {
  needsBuild();
  stage = await openStage();
  for (let index = 0; index < entries; index += 1)
    stage.client.nc.publish(`stopgate.main.worker.w${index % 50}.tool.used`, '{"tool":"Bash"}');
  await stage.client.nc.flush();
  // Stored after them, so they are all there.
  await stage.client.ask('decide.w1', {});
});
afterAll(() => stage?.close());

const askLines = (path: string, signal?: AbortSignal) =>
  fetch(`${stage.http.url}/api/main/${path}`, {
    headers: { accept: 'application/x-ndjson' },
    ...(signal === undefined ? {} : { signal }),
  });
const open = (limits: object, logger = createLogger('silent')) =>
  createHistory({ url: stage.nats.url, fleet: 'main' }, logger, {
    requestsMax: 32,
    budgetMs: 60_000,
    heapMiB: 256,
    lingerMs: 60_000,
    processesMax: 8,
    ...limits,
  });
const parse = (body: Uint8Array) => JSON.parse(new TextDecoder().decode(body));
const past = (seq: number) => ({ kind: 'past', seq, topic: null }) as const;

test('reports its progress, and then the result', async () => {
  const response = await askLines(`at/${entries}`);
  expect(response.headers.get('content-type')).toBe('application/x-ndjson');
  const lines = (await response.text())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const steps = lines.slice(0, -1).map(({ progress }) => progress);
  expect(steps.length).toBeGreaterThan(0);
  // It begins at the nearest snapshot.
  expect(steps.every(({ done, total }) => done < total && total <= entries)).toBe(true);
  expect(lines.at(-1).result.seq).toBe(entries);
  expect(lines.at(-1).result.workers).toHaveLength(50);
});

test('an immediate failure has its status, even for a streamed reply', async () => {
  const response = await askLines(`at/${entries * 10}`);
  expect(response.status).toBe(400);
  expect(((await response.json()) as { error: object }).error).toMatchObject({ code: 'BAD_REQUEST' });
});

test('a cancelled request makes room for others', async () => {
  const history = open({ requestsMax: 1 });
  const given = new AbortController();
  const first = history.ask(past(entries), { signal: given.signal, onProgress: () => given.abort() });
  await expect(history.ask(past(1))).rejects.toThrow('1 requests for the past are already open; try again later');
  await expect(first).rejects.toThrow('the request was cancelled');
  expect(parse(await history.ask(past(1)))).toMatchObject({ seq: 1 });
  await history.close();
});

test('a request over its time limit ends with a message, and continues when it is repeated', async () => {
  const history = open({ budgetMs: 200 });
  const ends: string[] = [];
  // The process has a low priority, so this takes many tries on a busy machine.
  while (ends.at(-1) !== 'done')
    ends.push(
      await history.ask(past(entries)).then(
        () => 'done',
        (error) => error.message,
      ),
    );
  expect(ends[0]).toContain('this took longer than the limit of 0.2 s per request');
  await history.close();
});

test('a process that runs out of memory fails its requests, and the service keeps answering', async () => {
  const history = open({ heapMiB: 12 });
  await expect(history.ask(past(entries))).rejects.toThrow(/the past cannot be shown: .*memory/);
  expect((await stage.client.ask('decide.w1')).body.decision).toBe('allow');
  await history.close();
});

test('a process started ahead answers; a killed one fails its requests, and the next request starts another', async () => {
  const history = open({});
  history.prepare();
  const pid = history.pid();
  expect(pid).not.toBeNull();
  expect(parse(await history.ask(past(1)))).toMatchObject({ seq: 1 });
  expect(history.pid()).toBe(pid);
  const asked = expect(history.ask(past(entries))).rejects.toThrow('it ended with SIGKILL; try again');
  process.kill(history.pid() ?? Number.NaN, 'SIGKILL');
  await asked;
  expect(parse(await history.ask(past(1)))).toMatchObject({ seq: 1 });
  await history.close();
});

test("the process's warnings are logged; it ends without requests, and the next request works", async () => {
  const { nc, manager } = stage.client;
  const position = await readPosition(manager, 'STOPGATE_main', 10);
  const head = JSON.stringify({ fleet: 'main', rules: 1, position });
  const objects = await new Objm(nc).create('STOPGATE-PAST_main');
  await objects.putBlob({ name: 'damaged', metadata: { head, format: `${snapshotFormat}` } }, new Uint8Array(9));
  const lines: string[] = [];
  const history = open({ lingerMs: 1 }, createLogger('warn', { write: (line) => lines.push(line) }));
  for (const seq of [10, 5]) {
    expect(parse(await history.ask(past(seq)))).toMatchObject({ seq });
    await expect.poll(() => history.pid()).toBeNull();
  }
  await history.close();
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'warn', snapshot: 'damaged', seq: 10, msg: 'snapshot skipped' },
  ]);
});

test('a process started ahead ends after a while without requests', async () => {
  const unused = open({ lingerMs: 1 });
  unused.prepare();
  const child = unused.pid() as number;
  await expect.poll(() => isAlive(child)).toBe(false);
});

test('at the maximum number of processes, the longest idle one is ended', async () => {
  const histories = Array.from({ length: 2 }, () => open({ processesMax: 1 }));
  try {
    for (const history of histories) await history.ask(past(1));
    expect(histories.filter((history) => history.pid() !== null)).toEqual(histories.slice(-1));
  } finally {
    await Promise.all(histories.map((history) => history.close()));
  }
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
