/** An attempt releases its slot, its trace and its waiter once, however it ends. */
import { expect, test, vi } from 'vitest';
import { createFleet, type Decision } from '../../../machines/index.ts';
import { AppError } from '../../../src/errors.ts';
import { createAdmission } from '../../../src/host/intake/admission.ts';
import { type AttemptsOptions, createAttempts } from '../../../src/host/intake/attempts.ts';
import { createRepeatedAttempts } from '../../../src/host/intake/repeated-attempts.ts';
import { createWaiters } from '../../../src/host/intake/waiters.ts';
import type { LogMessage } from '../../../src/nats/log/log-reader.ts';

const decision = { worker: 'w1', attempt: 'a1', seq: 1 } as Decision;
const entry = { seq: 1, header: () => undefined } as unknown as LogMessage;
const unavailable = new AppError('log.unavailable', 'not stored');

function createScene() {
  const fleet = createFleet('main');
  const admission = createAdmission({ openMax: 9, clock: () => 0 });
  const late: (() => void)[] = [];
  const waiters = createWaiters<Decision>((onLate) => {
    late.push(onLate);
    return { clear: () => {} };
  });
  /** The open traces, by key. */
  const traced = new Set<string>();
  const failed: string[] = [];
  const submitted: ((answer: AppError) => void)[] = [];
  const scene = { admission, waiters, late, traced, failed, submitted, isBroken: false };
  const options = {
    fleet,
    replica: 'r1',
    newId: () => 'unique',
    bus: { isConnected: () => true },
    lifecycle: { lose: () => {} },
    log: {
      submit(_subject: string, _payload: string, _headers: object, onAnswer: (answer: AppError) => void) {
        if (scene.isBroken) throw new Error('the connection is closed');
        submitted.push(onAnswer);
      },
    },
    gate: { enter: admission.enter, leave: admission.leave },
    outbox: { throwIfFull: () => {} },
    traces: {
      onSubmitted(_worker: string, key: string) {
        traced.add(key);
        return {};
      },
      onStored(_message: unknown, worker: string, attempt: string, key: string) {
        if (traced.delete(key)) traced.add(`${worker}:${attempt}`);
      },
      onFailed(key: string) {
        failed.push(key);
        traced.delete(key);
      },
    },
    waiters,
    replyInboxes: { add: () => {} },
  } as unknown as AttemptsOptions;
  const repeatedAttempts = createRepeatedAttempts(options as never);
  const attempts = createAttempts({ ...options, repeatedAttempts });
  return Object.assign(scene, { attempts });
}
type Scene = ReturnType<typeof createScene>;

/** `given` is the attempt's id, if its caller names one. */
const ends: readonly { name: string; given?: string; end(scene: Scene): void; answer: unknown; others?: number }[] = [
  {
    name: 'is decided at once',
    given: 'a1',
    end({ attempts, traced }) {
      attempts.onStored(entry, 'w1', 'a1', true);
      attempts.onDecided(decision, entry);
      traced.delete('w1:a1'); // `AttemptTraces.onDecided`
    },
    answer: decision,
  },
  {
    name: 'is decided later',
    given: 'a1',
    end({ attempts, traced }) {
      attempts.onStored(entry, 'w1', 'a1', false);
      attempts.onDecided(decision, null);
      traced.delete('w1:a1');
    },
    answer: decision,
  },
  {
    name: 'is refused by the log',
    given: 'a1',
    end: ({ submitted }) => submitted[0]?.(unavailable),
    answer: unavailable,
  },
  {
    name: 'is refused by the fold',
    given: 'a1',
    end: ({ attempts }) => attempts.onRefused(entry, 'w1', 'a1', 'the fleet is full'),
    answer: expect.objectContaining({ code: 'service.busy', message: 'the fleet is full' }),
  },
  {
    name: 'is late',
    given: 'a1',
    end: ({ late }) => late[0]?.(),
    answer: expect.objectContaining({ code: 'log.unavailable' }),
  },
  {
    name: 'has no id, and the service stops while its check runs',
    end({ attempts, waiters }) {
      const header = (name: string) => (name === 'Nats-Msg-Id' ? 'w1:~unique' : undefined);
      attempts.onStored({ ...entry, header }, 'w1', 'seq-1', false);
      waiters.failAll(unavailable);
    },
    answer: unavailable,
  },
  {
    name: 'gives way to another one while its check runs',
    given: 'a1',
    end({ attempts, admission }) {
      attempts.onStored(entry, 'w1', 'a1', false);
      for (let other = 2; other <= 10; other += 1)
        admission.enter({ actor: `w${other}`, key: `w${other}`, giveWay: () => false });
    },
    answer: expect.objectContaining({ code: 'service.busy' }),
    others: 9,
  },
];

test.each(ends)('when it $name', ({ given, end, answer, others = 0 }) => {
  const scene = createScene();
  const reply = vi.fn();
  const attempt = scene.attempts.open('w1', { attempt: given, payload: '{}' }, reply);
  expect([scene.admission.open(), scene.traced.size, reply.mock.calls.length]).toEqual([1, 1, 0]);
  end(scene);
  expect(reply.mock.calls).toEqual([[answer]]);
  expect([...scene.traced]).toEqual([]);
  expect(scene.waiters.has('w1:a1') || scene.waiters.has('w1:~unique') || scene.waiters.has('w1:seq-1')).toBe(false);
  attempt.finish(unavailable);
  scene.waiters.failAll(unavailable);
  expect(reply).toHaveBeenCalledTimes(1);
  expect(scene.admission.open()).toBe(others);
});

test('when it cannot be sent', () => {
  const scene = createScene();
  scene.isBroken = true;
  const reply = vi.fn();
  scene.attempts.open('w1', { attempt: 'a1', payload: '{}' }, reply);
  expect(reply.mock.calls).toEqual([[new Error('the connection is closed')]]);
  expect([scene.admission.open(), scene.traced.size, scene.waiters.has('w1:a1')]).toEqual([0, 0, false]);
});

// Root cause: the ninth request for one attempt ended the trace of all.
test('a request that is evicted by a ninth one leaves the slot, the trace and the waiter to the others', () => {
  const scene = createScene();
  const replies = Array.from({ length: 9 }, () => vi.fn());
  for (const reply of replies) scene.attempts.open('w1', { attempt: 'a1', payload: '{}' }, reply);
  expect(replies[0]?.mock.calls).toEqual([[expect.objectContaining({ code: 'service.busy' })]]);
  expect([scene.admission.open(), [...scene.traced], scene.failed]).toEqual([1, ['w1:a1'], []]);
  scene.attempts.onStored(entry, 'w1', 'a1', true);
  scene.attempts.onDecided(decision, entry);
  for (const reply of replies.slice(1)) expect(reply.mock.calls).toEqual([[decision]]);
  expect(scene.admission.open()).toBe(0);
});

// Root cause: an entry of another attempt with the first one's message id took over its callers.
test('an attempt that uses the message id of another does not affect its callers', () => {
  const scene = createScene();
  const reply = vi.fn();
  scene.attempts.open('w1', { attempt: 'a1', payload: '{}' }, reply);
  const header = (name: string) => (name === 'Nats-Msg-Id' ? 'w1:a1' : undefined);
  scene.attempts.onStored({ ...entry, header }, 'w1', 'a2', true);
  scene.attempts.onDecided({ ...decision, attempt: 'a2' }, { ...entry, header });
  expect(reply).not.toHaveBeenCalled();
  expect(scene.waiters.awaitsEntry('w1:a1')).toBe(true);
});
