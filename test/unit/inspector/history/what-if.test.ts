/** "What if" in a log that is truncated while it is folded. */
import { expect, test } from 'vitest';
import type { Job } from '../../../../src/inspector/history/jobs.ts';
import { compareDecisions, type History } from '../../../../src/inspector/history/what-if.ts';

const job: Job = { signal: new AbortController().signal, step: () => undefined };
const message = (seq: number) => ({
  seq,
  atMs: seq * 1_000,
  subject: 'stopgate.main.worker.w1.heartbeat.sent',
  data: new TextEncoder().encode('{}'),
  header: () => undefined,
});

/** A log that began at entry 1 at the request, and begins at `firstSeq` when it is read. */
function cutLog(firstSeq: number, beginSeq = 1): History {
  return {
    log: {
      accepted: { toSeq: beginSeq - 1, beginSeq },
      range: async () => ({ firstSeq, lastSeq: 9, firstMs: 0, lastMs: 0 }),
      newest: async () => [message(1)],
      async history({ fromSeq, toSeq }, onMessage) {
        for (let seq = Math.max(fromSeq, firstSeq); seq <= toSeq; seq += 1) await onMessage(message(seq));
      },
    },
    past: {
      earliest: async () => 1,
      at: () => Promise.reject(new Error('not asked')),
      foldRange: async () => {},
      copyBefore: async () => null,
    },
  };
}
const compare = (history: History) =>
  compareDecisions(
    history,
    'main',
    { kind: 'whatIf', policy: 'policies: { default: {} }', last: 10, sinceMs: null },
    job,
  );

test('does not compare remaining entries without those before them', async () => {
  await expect(compare(cutLog(4))).rejects.toThrow('entries 1 to 3 are no longer in the log; if it was just truncated');
  await expect(compare(cutLog(10))).rejects.toThrow('entries 1 to 9 are no longer in the log');
  expect(await compare(cutLog(4, 4))).toMatchObject({ compared: 0 });
  expect(await compare(cutLog(1))).toMatchObject({ compared: 0 });
});
