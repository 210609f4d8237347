/** Timers of several replicas: one fires the deadline, and retries while it is too early by the server's clock. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createFleet, type Entry, type Fleet, fleetKey, foldEntry, readEntry } from '../../../machines/index.ts';
import { createEffects, type Effects, type Performers } from '../../../src/host/effects/effects.ts';
import { createTimers, type Timers, type TimersOptions } from '../../../src/host/effects/timers.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'] }));
afterEach(() => void vi.useRealTimers());

const holdMs = 5_000;

/** `fired` lists the replicas that fired. All replicas fold an entry as soon as it is stored. */
type Scene = {
  readonly fleet: Fleet;
  readonly fired: string[];
  readonly replicas: Map<string, { readonly timers: Timers; readonly effects: Effects }>;
  serverMs: number;
};

function fold(scene: Scene, subject: string, payload: string, owner: string | null): Entry {
  const entry = readEntry(`stopgate.main.${subject}`, payload, payload.length) as Entry;
  const { touched } = foldEntry(scene.fleet, { seq: scene.fleet.seq + 1, atMs: scene.serverMs, entry, owner });
  for (const { effects } of scene.replicas.values()) effects.touch(touched);
  return entry;
}

/** An attempt of `r1` is held for 5 s. */
function hold(): Scene {
  const scene: Scene = { fleet: createFleet('main'), fired: [], replicas: new Map(), serverMs: 1_000 };
  const policies = { default: { persistence: { idle: '1h', hold: `${holdMs}ms` } } };
  const replica = 'r1';
  fold(scene, 'own.fleet.main.replica.joined', JSON.stringify({ replica }), null);
  fold(scene, 'own.fleet.main.policy.set', JSON.stringify({ policies }), null);
  fold(scene, 'worker.w1.stop.attempted', '{"attempt":"a1"}', replica);
  expect([...scene.fleet.held]).toEqual(['w1']);
  return scene;
}

/** The replicas' estimate of the server's time is `aheadMs` ahead. */
function addReplica(scene: Scene, replica: string, aheadMs: number): void {
  const { fleet } = scene;
  const lifecycle = { isAtHead: () => true };
  const timers = createTimers({
    fleet,
    replica,
    lifecycle,
    newId: () => replica,
    bus: { isConnected: () => true },
    logClock: { server: () => scene.serverMs + aheadMs },
    log: {
      submit(subject, payload) {
        scene.fired.push(replica);
        const entry = fold(scene, subject.replace('stopgate.main.', ''), String(payload), null);
        for (const each of scene.replicas.values()) each.timers.onFired(entry as never, replica);
      },
    },
  } satisfies TimersOptions);
  const performers = { timer: timers } as unknown as Performers;
  const effects = createEffects({ fleet, replica, lifecycle, performers, entries: {} as never });
  scene.replicas.set(replica, { timers, effects });
  effects.touch([fleetKey]);
}

function pass(scene: Scene, ms: number): void {
  for (let passed = 0; passed < ms; passed += 10) {
    scene.serverMs += 10;
    vi.advanceTimersByTime(10);
  }
}

test("while the server's clock is behind, only the owner retries, however many replicas wait", () => {
  const scene = hold();
  for (const replica of ['r1', 'r2', 'r3', 'r4', 'r5']) addReplica(scene, replica, 2_000);
  pass(scene, holdMs + 1_000);
  expect([...scene.fleet.held]).toEqual([]);
  expect(new Set(scene.fired)).toEqual(new Set(['r1']));
  expect(scene.fired.length).toBeLessThan(12);
});

test('the other replicas take over if the owner is gone', () => {
  const scene = hold();
  for (const replica of ['r1', 'r2']) addReplica(scene, replica, 2_000);
  pass(scene, holdMs - 1_500);
  expect(scene.fired).toContain('r1');
  scene.replicas.get('r1')?.effects.close();
  pass(scene, 2_500);
  expect([...scene.fleet.held]).toEqual([]);
  expect(scene.fired).toContain('r2');
});

test('an earlier deadline does not wait for the next try of a later one', () => {
  const scene = hold();
  scene.serverMs += 100;
  fold(scene, 'worker.w2.stop.attempted', '{"attempt":"a2"}', 'r1');
  addReplica(scene, 'r1', 4_000);
  pass(scene, holdMs - 90);
  // An agent's entry moves the log's clock as well, while the replica waits for longer and longer between its tries.
  fold(scene, 'worker.w3.heartbeat.sent', '{}', null);
  expect([...scene.fleet.held]).toEqual(['w2']);
  pass(scene, 200);
  expect([...scene.fleet.held]).toEqual([]);
});

test('entries about other deadlines postpone nothing', () => {
  const scene = hold();
  addReplica(scene, 'r1', 0);
  const other = readEntry('stopgate.main.own.worker.w2.timer.fired', '{"timer":"stale"}', 17) as never;
  for (let passed = 0; passed < holdMs + 50; passed += 10) {
    scene.replicas.get('r1')?.timers.onFired(other, 'r2');
    pass(scene, 10);
  }
  expect([...scene.fleet.held]).toEqual([]);
});
