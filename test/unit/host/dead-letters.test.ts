/**
 * Snapshots name the first entry without a dead letter. Root cause: a snapshot that was taken at a clean end, while the
 * dead stream was full, named none, because the pending letter was dropped first. So nobody sent it after the next
 * start.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Refusal } from '../../../machines/index.ts';
import { createDeadLetters, type DeadLetters } from '../../../src/host/fold/dead-letters.ts';
import { createFoldProgress, type FoldProgress } from '../../../src/host/fold/fold-progress.ts';
import type { Lifecycle } from '../../../src/host/lifecycle.ts';
import { createOwnEntries } from '../../../src/host/own-entries.ts';
import type { LogMessage } from '../../../src/nats/log/log-reader.ts';
import { lifecycleAtHead } from './lifecycle-at-head.ts';

let lifecycle: Lifecycle;
let progress: FoldProgress;
let letters: DeadLetters;
let isFull: boolean;

beforeEach(() => {
  vi.useFakeTimers();
  isFull = true;
  lifecycle = lifecycleAtHead();
  progress = createFoldProgress();
  const shared = {
    replica: 'r1',
    fleet: { name: 'main' },
    lifecycle,
    newId: () => 'id',
    progress,
    metrics: { dead() {} },
    logger: { warn() {} } as never,
    log: {
      deadSeq: 0,
      history: async (_range: object, onMessage: (message: LogMessage) => Promise<void>) => onMessage(refusedAt(16)),
      append: async () => {
        if (isFull) throw new Error('insufficient storage resources available');
        return { seq: 1, duplicate: false };
      },
    } as never,
  };
  letters = createDeadLetters({ ...shared, entries: createOwnEntries(shared) });
});
afterEach(() => void vi.useRealTimers());

const refusedAt = (seq: number): LogMessage => ({
  seq,
  atMs: 0,
  subject: 'stopgate.main.worker.w1.tool.used',
  data: new TextEncoder().encode('{'),
  header: () => undefined,
});
const refusal = { code: 'NOT_JSON', message: 'no JSON', entity: 'worker', id: 'w1' } as Refusal;
async function close(): Promise<void> {
  await vi.advanceTimersByTimeAsync(100);
  lifecycle.leave();
  await vi.advanceTimersByTimeAsync(1_000);
}

test('a dead letter that a full dead stream refused is still owed after a clean end', async () => {
  letters.put(refusedAt(16), refusal);
  await close();
  expect(letters.owedFrom()).toBe(16);
});

test('so is a dead letter that is read from the log again', async () => {
  progress.advance(refusedAt(16));
  letters.restore(16);
  letters.open();
  await close();
  expect(letters.owedFrom()).toBe(16);
});

test('nothing is owed once the dead stream has stored it', async () => {
  letters.put(refusedAt(16), refusal);
  await vi.advanceTimersByTimeAsync(100);
  expect(letters.owedFrom()).toBe(16);
  isFull = false;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(letters.owedFrom()).toBeNull();
});
