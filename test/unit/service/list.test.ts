/** list over many actors: once, 100,000 of them were looked at in one piece, and every decision waited 0.6 s. */
import { expect, test } from 'vitest';
import { createFleet } from '../../../machines/index.ts';
import { foldMessage } from '../../../src/host/fold-message.ts';
import type { Host } from '../../../src/host/host.ts';
import { list } from '../../../src/service/list.ts';

const count = 10_000;
const fleet = createFleet('main');
for (let seq = 1; seq <= count; seq += 1) {
  // In no order.
  const worker = `w${(seq * 7_919) % 10_007}`;
  const agent = seq % 100 === 0 ? 'rare' : 'often';
  const data = Buffer.from(JSON.stringify({ agent }));
  foldMessage(fleet, {
    seq,
    atMs: seq,
    subject: `stopgate.main.worker.${worker}.worker.registered`,
    data,
    header: () => undefined,
  });
}
const host = { fleet, caughtUp: async () => {}, logNow: () => count } as unknown as Host;
const agentOf = (id: string) => fleet.workers.read(id)?.snapshot.context.worker.agent;
const sorted = [...fleet.workers.keys()].sort();

test('others have their turn while it searches for what is nowhere', async () => {
  let turns = 0;
  let isDone = false;
  const turn = () => {
    turns += 1;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  expect(await list(host, 'worker', { agent: 'none' })).toEqual({ items: [], next: null });
  isDone = true;
  expect(turns).toBeGreaterThan(50);
});

test.each([{ limit: 1_000 }, { limit: 7, agent: 'rare' }])(
  'pages of %j are in order, without a gap',
  async (filter) => {
    const ids: string[] = [];
    let next: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof list>> = await list(
        host,
        'worker',
        next === null ? filter : { ...filter, after: next },
      );
      ids.push(...page.items.map((it) => ('worker' in it ? (it.worker as string) : '')));
      next = page.next;
    } while (next !== null);
    const expected = sorted.filter((id) => filter.agent === undefined || agentOf(id) === filter.agent);
    expect(ids).toEqual(expected);
  },
);
