/** Statistics are counted on from request to request, and say from when on where retention has cut the log in between. */
import { expect, test } from 'vitest';
import { createStatisticsReader } from '../../../../src/inspector/history/statistics.ts';
import type { LogMessage } from '../../../../src/nats/log-reader.ts';

const hourMs = 3_600_000;
const asker = { signal: new AbortController().signal, onProgress: () => {} };
const decision = JSON.stringify({
  decision: 'block',
  cause: 'incomplete',
  action: 'continue',
  feedback: [],
  verdicts: [],
});

/** One block an hour, and a clock that stands at the last one. */
function makeLog() {
  let messages: LogMessage[] = [];
  const first = () => messages[0] as LogMessage;
  const last = () => messages.at(-1) as LogMessage;
  return {
    grow(count: number) {
      for (let more = 0; more < count; more += 1) {
        const seq = (messages.at(-1)?.seq ?? 0) + 1;
        const data = new TextEncoder().encode(decision);
        messages.push({ seq, atMs: seq * hourMs, subject: 'stopgate.main.decision.w1', data, header: () => undefined });
      }
    },
    cutBelow(seq: number) {
      messages = messages.filter((it) => it.seq >= seq);
    },
    now: () => last().atMs,
    range: async () => ({ firstSeq: first().seq, lastSeq: last().seq, firstMs: first().atMs, lastMs: last().atMs }),
    async history(
      { fromSeq, toSeq }: { fromSeq: number; toSeq: number },
      onMessage: (message: LogMessage) => void | Promise<void>,
    ) {
      for (const message of messages) if (message.seq >= fromSeq && message.seq <= toSeq) await onMessage(message);
    },
  };
}

async function count(reader: ReturnType<typeof createStatisticsReader>) {
  const { buckets, knownFromMs } = await reader.read('week', asker);
  return { blocked: buckets.reduce((all, { verdicts }) => all + verdicts.blocked, 0), knownFromMs };
}

test('go on where they ended, also when what was counted is cut', async () => {
  const log = makeLog();
  const reader = createStatisticsReader(log, log.now);
  log.grow(20);
  expect(await count(reader)).toEqual({ blocked: 20, knownFromMs: null });
  log.cutBelow(15);
  log.grow(5);
  expect(await count(reader)).toEqual({ blocked: 25, knownFromMs: null });
});

test('count from behind a cut that took what was not counted yet', async () => {
  const log = makeLog();
  const reader = createStatisticsReader(log, log.now);
  log.grow(20);
  await count(reader);
  log.grow(20);
  log.cutBelow(31);
  expect(await count(reader)).toEqual({ blocked: 10, knownFromMs: 31 * hourMs });
  log.grow(1);
  expect(await count(reader)).toEqual({ blocked: 11, knownFromMs: 31 * hourMs });
});
