/**
 * The outbox resends decisions that the log has not delivered. It once resent all of them every two seconds: a fold
 * that was a few seconds behind then published more than it folded, never caught up, and used more and more memory.
 */
import { beforeEach, expect, test } from 'vitest';
import type { Decision } from '../../../machines/index.ts';
import { createFoldProgress } from '../../../src/host/fold/fold-progress.ts';
import { createOutbox, type Outbox, type OutboxOptions } from '../../../src/host/fold/outbox.ts';
import type { OnStored } from '../../../src/nats/log/log-submitter.ts';
import { lifecycleAtHead } from './lifecycle-at-head.ts';

let nowMs: number;
let sent: (number | null)[];
let submitted: { readonly messageId: string; readonly onAnswer: OnStored }[];
let progress: ReturnType<typeof createFoldProgress>;
let outbox: Outbox;

beforeEach(() => {
  nowMs = 10_000;
  sent = [];
  submitted = [];
  progress = createFoldProgress();
  outbox = createOutbox({
    replica: 'r1',
    fleet: { name: 'main' },
    lifecycle: lifecycleAtHead(),
    clock: () => nowMs,
    newId: () => 'new',
    progress,
    bus: { isConnected: () => true },
    log: {
      send: (_subject: string, payload: Uint8Array) =>
        void sent.push((JSON.parse(Buffer.from(payload).toString()) as Decision).seq),
      submit: (_subject: string, _payload: string, { messageId = '' }, onAnswer: OnStored) =>
        void submitted.push({ messageId, onAnswer }),
    },
  } as unknown as OutboxOptions);
});

const put = (attempt: string, owner = 'r1') => outbox.put({ worker: 'w1', attempt } as Decision, owner, [], false);
function resendFor(turns: number): void {
  for (let turn = 0; turn < turns; turn += 1) {
    nowMs += 500;
    outbox.resend();
  }
}
const foldTo = (seq: number) =>
  progress.advance({ seq, atMs: 0, subject: 's', data: new Uint8Array(), header: () => undefined });

test('a decision that the log has not delivered for two seconds is sent again, and not earlier', () => {
  put('a1');
  resendFor(4);
  expect(submitted).toEqual([]);
  resendFor(1);
  expect(submitted).toHaveLength(1);
});

test('of thousands of late decisions a few hundred are resent per turn, oldest first, each once', () => {
  for (let count = 0; count < 3_000; count += 1) put(`a${count}`);
  resendFor(8);
  expect(submitted).toHaveLength(4 * 256);
  expect(new Set(submitted.map(({ messageId }) => messageId)).size).toBe(4 * 256);
  expect(submitted[0]?.messageId).toContain('a0');
});

test('a stored decision that is not folded yet is not resent', async () => {
  put('a1');
  resendFor(5);
  submitted[0]?.onAnswer({ seq: 900, duplicate: true });
  foldTo(899);
  resendFor(20);
  expect(submitted).toHaveLength(1);
  // An agent's entry had the message id, so the decision was not stored.
  foldTo(900);
  await expect.poll(() => submitted.length).toBe(2);
  expect(submitted[1]?.messageId).not.toBe(submitted[0]?.messageId);
});

test('decisions of a replica that is gone are not sent twice within two seconds either', () => {
  put('a1', 'r2');
  let asked = 0;
  const isMine = () => {
    asked += 1;
    return true;
  };
  for (let turn = 0; turn < 4; turn += 1) outbox.sendFor('r2', isMine);
  expect(asked).toBe(1);
});

test('a forgotten worker that reuses an attempt id does not replace the first decision', () => {
  const putAt = (seq: number) => outbox.put({ worker: 'w1', attempt: 'a1', seq } as Decision, 'r1', [], false);
  putAt(30);
  putAt(37);
  outbox.flush();
  expect(sent).toEqual([30]);
  expect(outbox.find('w1', 'a1')?.seq).toBe(37);
  expect(outbox.capture().map(({ decision }) => decision.seq)).toEqual([30, 37]);
  outbox.onPublished('w1', 'a1');
  outbox.flush();
  expect(sent).toEqual([30, 37]);
  outbox.onPublished('w1', 'a1');
  expect(outbox.find('w1', 'a1')).toBeNull();
});

test('after a start from a snapshot both are sent, one after the other', () => {
  const stateOf = (seq: number) => ({ decision: { worker: 'w1', attempt: 'a1', seq } as Decision, messageId: 'id' });
  outbox.restore([30, 37].map((seq) => ({ ...stateOf(seq), owner: 'r1', inboxes: [] })));
  outbox.open();
  outbox.flush();
  outbox.onPublished('w1', 'a1');
  outbox.flush();
  expect(sent).toEqual([30, 37]);
});
