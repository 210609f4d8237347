/** The past at an entry: which entries are read for it. Most must come from checkpoints and from earlier requests. */
import { expect, test } from 'vitest';
import { createCheckpoints } from '../../../../src/inspector/history/checkpoints.ts';
import { createPastFolds } from '../../../../src/inspector/history/past-folds.ts';
import { createPace } from '../../../../src/inspector/history/turns.ts';
import type { LogMessage } from '../../../../src/nats/log-reader.ts';

const lastSeq = 20_000;
const data = new TextEncoder().encode('{"tool":"Bash"}');
const message = (seq: number): LogMessage => ({
  ...{ seq, atMs: seq * 1_000, subject: `stopgate.main.worker.w${seq % 10}.tool.used`, data },
  header: () => undefined,
});

function openPast(firstSeq = 1) {
  const reads: { from: number; count: number }[] = [];
  const log = {
    range: async () => ({ firstSeq, lastSeq, firstMs: 0, lastMs: 0 }),
    async history(
      { fromSeq, toSeq }: { fromSeq: number; toSeq: number },
      onMessage: (message: LogMessage) => void | Promise<void>,
    ) {
      const read = { from: fromSeq, count: 0 };
      reads.push(read);
      for (let seq = fromSeq; seq <= toSeq; seq += 1) {
        read.count += 1;
        await onMessage(message(seq));
      }
    },
  };
  const folds = createPastFolds('main', log, createCheckpoints());
  const signal = new AbortController();
  const pace = createPace(signal.signal, () => {});
  const toolsAt = (seq: number, withPace = pace) =>
    folds.at(seq, withPace, ({ fleet, seq: at, entry }) => ({
      tools: [...fleet.workers.values()].reduce((sum, it) => sum + it.snapshot.context.worker.toolCount, 0),
      ...{ at, entry: entry?.seq ?? null },
    }));
  return { toolsAt, reads };
}

test('a jump back, and one forward, start from the nearest checkpoint', async () => {
  const { toolsAt, reads } = openPast();
  expect(await toolsAt(20_000)).toEqual({ tools: 20_000, at: 20_000, entry: 20_000 });
  expect(await toolsAt(9_000)).toEqual({ tools: 9_000, at: 9_000, entry: 9_000 });
  expect(await toolsAt(17_000)).toEqual({ tools: 17_000, at: 17_000, entry: 17_000 });
  expect(reads).toEqual([
    { from: 1, count: 20_000 },
    { from: 8_193, count: 808 },
    { from: 16_385, count: 616 },
  ]);
});

test('the next entry is folded on the one before, and the same again reads nothing', async () => {
  const { toolsAt, reads } = openPast();
  for (const seq of [6_000, 6_001, 6_002, 6_002]) expect((await toolsAt(seq)).tools).toBe(seq);
  expect(reads.map(({ count }) => count)).toEqual([6_000, 1, 1]);
});

test('at the same time each request has a fleet of its own', async () => {
  const { toolsAt } = openPast();
  await toolsAt(5_000);
  const all = await Promise.all([5_000, 5_001, 5_002, 4_000, 5_000].map((seq) => toolsAt(seq)));
  expect(all.map(({ tools }) => tools)).toEqual([5_000, 5_001, 5_002, 4_000, 5_000]);
});

test('what was given up half-way is where the next begins', async () => {
  const { toolsAt, reads } = openPast();
  const pace = { step: (done: number) => (done < 7_000 ? undefined : Promise.reject(new Error('given up'))) };
  await expect(toolsAt(15_000, pace)).rejects.toThrow('given up');
  expect((await toolsAt(15_000)).tools).toBe(15_000);
  expect(reads[1]).toEqual({ from: 7_001, count: 8_000 });
});

test('entries that are not in the log are refused in words', async () => {
  await expect(openPast().toolsAt(20_001)).rejects.toThrow('there is no entry 20001 yet: the log ends at 20000');
  await expect(openPast(7).toolsAt(9)).rejects.toThrow('the log starts at entry 7: earlier entries have been removed');
  expect(await openPast().toolsAt(0)).toEqual({ tools: 0, at: 0, entry: null });
});
