/** The limits of open requests, in total and per worker (docs/protocol.md §9). */
import { expect, test } from 'vitest';
import { type Admission, createAdmission, type Holder } from '../../../src/host/intake/admission.ts';

const busy = { code: 'service.busy', retryAfterMs: 1_000 };
const never = () => new Promise<never>(() => {});

function open(admission: Admission, actor: string, count: number): void {
  for (let index = 0; index < count; index += 1) void admission.run({ actor, key: `${actor}:${index}` }, never);
}

/** A request that can be evicted if `canGiveWay` is true. */
function enter(admission: Admission, actor: string, key: string, canGiveWay = () => false): Holder {
  const holder: Holder = {
    actor,
    key,
    giveWay() {
      if (!canGiveWay()) return false;
      admission.leave(holder);
      return true;
    },
  };
  admission.enter(holder);
  return holder;
}

test('a request over the limit is refused without being started, until a slot is free', async () => {
  const admission = createAdmission({ openMax: 2, clock: () => 0 });
  const first = enter(admission, 'w1', 'w1:a');
  enter(admission, 'w2', 'w2:a');
  let isBegun = false;
  const begin = async () => {
    isBegun = true;
  };
  await expect(admission.run({ actor: 'w3', key: 'w3:a' }, begin)).rejects.toMatchObject(busy);
  expect(isBegun).toBe(false);
  admission.leave(first);
  admission.leave(first);
  expect(admission.open()).toBe(1);
  await admission.run({ actor: 'w3', key: 'w3:a' }, begin);
  expect(isBegun).toBe(true);
  expect(admission.open()).toBe(1);
});

test('a new request evicts the evictable one that has waited longest', async () => {
  const bounds: string[] = [];
  const onBound = (bound: string) => void bounds.push(bound);
  const admission = createAdmission({ openMax: 3, clock: () => 0, onBound });
  enter(admission, 'w1', 'w1:a');
  const isStored = { w2: false };
  enter(admission, 'w2', 'w2:a', () => isStored.w2);
  enter(admission, 'w2', 'w2:a', () => isStored.w2);
  enter(admission, 'w3', 'w3:a', () => true);
  const ask = (actor: string) => admission.run({ actor, key: `${actor}:new` }, async () => 'served');
  await expect(ask('w1')).rejects.toMatchObject({
    ...busy,
    message: "3 requests are open, the maximum of this replica, and 'w1' has 1 of them",
  });
  await expect(ask('w4')).resolves.toBe('served');
  enter(admission, 'w5', 'w5:a');
  await expect(ask('w6')).rejects.toMatchObject(busy);
  isStored.w2 = true;
  await expect(ask('w6')).resolves.toBe('served');
  expect(bounds).toEqual(['open requests', 'gave way', 'open requests', 'gave way']);
  expect(admission.open()).toBe(2);
});

// Root cause: 1,000 probes of a slow check used all slots, so all other probes, verifications and lists were refused
// for minutes.
test('running work can be evicted, oldest first, and its result is dropped', async () => {
  const admission = createAdmission({ openMax: 2, clock: () => 0 });
  const slow = ['w1', 'w2'].map((actor) => admission.run({ actor, key: actor }, never));
  await expect(admission.run({ actor: null, key: 'nobody' }, async () => 'served')).rejects.toMatchObject(busy);
  await expect(admission.run({ actor: 'w3', key: 'w3' }, async () => 'served')).resolves.toBe('served');
  await expect(slow[0]).rejects.toMatchObject({ ...busy, message: expect.stringContaining('gave way') });
  expect(admission.open()).toBe(1);
  await expect(admission.run({ actor: 'w4', key: 'w4' }, async () => 'served')).resolves.toBe('served');
});

test('leaving twice does not free the slot of another holder with the same key', () => {
  const admission = createAdmission({ openMax: 2, clock: () => 0 });
  const [first] = [enter(admission, 'w1', 'w1:a'), enter(admission, 'w1', 'w1:a')];
  admission.leave(first);
  admission.leave(first);
  expect(admission.open()).toBe(1);
});

// Root cause: each retry of a held attempt used another slot, and 10,000 of them locked everybody out.
test('retries of one attempt share one slot, which is free when the last of them ends', async () => {
  const admission = createAdmission({ openMax: 2, clock: () => 0 });
  const ends: (() => void)[] = [];
  const ask = () =>
    admission.run({ actor: 'w1', key: 'w1:a' }, () => new Promise<void>((done) => void ends.push(done)));
  const asked = [ask(), ask(), ask()];
  expect(admission.open()).toBe(1);
  await expect(admission.run({ actor: 'w2', key: 'w2:a' }, async () => 'served')).resolves.toBe('served');
  for (const [index, end] of ends.entries()) {
    expect(admission.open()).toBe(1);
    end();
    await asked[index];
  }
  expect(admission.open()).toBe(0);
});

test('one actor may have 100 open requests, and others are still served', async () => {
  const admission = createAdmission({ openMax: 1_000, clock: () => 0 });
  open(admission, 'noisy', 100);
  await expect(admission.run({ actor: 'noisy', key: 'x' }, never)).rejects.toMatchObject(busy);
  await expect(admission.run({ actor: 'w1', key: 'y' }, async () => 'served')).resolves.toBe('served');
});

test('while a tenth of the slots is in use, one actor gets at most 100 requests a second', async () => {
  let now = 0;
  const admission = createAdmission({ openMax: 1_000, clock: () => now });
  const ask = (key: number) => admission.run({ actor: 'noisy', key: `noisy:${key}` }, async () => 'served');
  for (let key = 0; key < 200; key += 1) await ask(key); // no other actor is active
  open(admission, 'w1', 100);
  for (let key = 0; key < 100; key += 1) await ask(key);
  await expect(ask(100)).rejects.toMatchObject(busy);
  await expect(admission.run({ actor: 'w2', key: 'w2' }, async () => 'served')).resolves.toBe('served');
  now = 1_000;
  await expect(ask(101)).resolves.toBe('served');
});
