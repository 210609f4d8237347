import { afterAll, beforeAll, expect, test } from 'vitest';
import type { WorkerView } from '../../../machines/index.ts';
import type { Client } from '../../support/client.ts';
import { deployReplicas } from '../../support/deployment.ts';
import { createRandom } from '../../support/random.ts';

const limit = 300;
const workers = Array.from({ length: 8 }, (_, index) => `w${index}`);
/** Minimum. */
const attemptsOfEach = 40;
const killsMin = 3;
const config = `
policies:
  default: { retries: null, checks: [{ plan: {} }] }
budget: { tokens: ${limit}, per: day }
`;

let stage: Awaited<ReturnType<typeof deployReplicas>>;
let client: Client;

beforeAll(async () => {
  stage = await deployReplicas(config);
  client = stage.client;
});
afterAll(() => stage.close());

/** Repeats the request with the same id until there is a reply, like a client that lost its connection. */
async function decide(worker: string, attempt: string): Promise<void> {
  for (;;) {
    const answer = await client.ask(`decide.${worker}`, { attempt }, 3_000).catch(() => null);
    if (answer !== null && answer.code === '') return;
  }
}

/** Reads the whole log in order, with the day of each entry. */
async function readLog() {
  const { state } = await client.manager.streams.info('STOPGATE_main');
  const entries: { subject: string; day: string; data: Record<string, unknown> }[] = [];
  for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
    const message = await client.manager.streams.getMessage('STOPGATE_main', { seq });
    if (message === null) continue;
    const text = new TextDecoder().decode(message.data);
    const data = text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {};
    entries.push({ subject: message.subject, day: message.timestamp.slice(0, 10), data });
  }
  return entries;
}

test('each attempt is decided by the usage of all workers before it, whichever replica was killed', async () => {
  const random = createRandom('day budget');
  let attempts = 0;
  let kills = 0;
  let isDone = false;
  const work = async (worker: string) => {
    await client.publish(`worker.${worker}.plan.updated`, { steps: [{ title: 'Fix lint', status: 'pending' }] });
    // A slow machine needs more attempts for the same number of kills.
    for (let number = 1; number <= attemptsOfEach || kills < killsMin; number += 1) {
      const report = { input: 1 + Math.floor(random() * 4) };
      const id = `${worker}-used-${number}`;
      await client.publish(`worker.${worker}.usage.reported`, report, id);
      // Exporters repeat a report without a reply. It counts once.
      if (random() < 0.3) await client.publish(`worker.${worker}.usage.reported`, report, id);
      await decide(worker, `${worker}-${number}`);
      attempts += 1;
    }
  };
  const killer = async () => {
    for (; !isDone; kills += 1) {
      const until = attempts + 15;
      await expect.poll(() => isDone || attempts >= until, { interval: 20 }).toBe(true);
      const name = kills % 2 === 0 ? 'ra' : 'rb';
      await stage.kill(name);
      await stage.start(name);
    }
  };
  const killing = killer();
  await Promise.all(workers.map(work));
  isDone = true;
  await killing;

  const used = new Map<string, number>();
  const expected = new Map<string, string>();
  const decided = new Map<string, unknown>();
  let today = '';
  for (const { subject, day, data } of await readLog()) {
    if (subject.endsWith('.usage.reported')) used.set(day, (used.get(day) ?? 0) + Number(data.input));
    const attempt = String(data.attempt);
    if (subject.endsWith('.stop.attempted') && !expected.has(attempt))
      expected.set(attempt, (used.get(day) ?? 0) >= limit ? 'bypassed' : 'incomplete');
    if (subject.includes('.decision.')) decided.set(attempt, data.cause);
    today = day;
  }
  expect(expected.size).toBe(attempts);
  expect(Object.fromEntries(decided)).toEqual(Object.fromEntries(expected));
  // The test reached both sides of the limit.
  expect(new Set(decided.values())).toEqual(new Set(['incomplete', 'bypassed']));
  // Each replica now reports the same usage.
  const { budgets } = (await client.ask('get.worker.w0')).body as unknown as WorkerView;
  expect(budgets).toEqual([{ per: 'day', kind: 'tokens', used: used.get(today), limit }]);
});
