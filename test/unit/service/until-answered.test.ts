/** If several questions of one worker are answered at once, each caller gets its own answer. */
import { expect, test } from 'vitest';
import { actorKey, createFleet, type Fleet, type InputAnswer } from '../../../machines/index.ts';
import type { Host } from '../../../src/host/host.ts';
import { untilAnswered } from '../../../src/service/waits.ts';

type WorkerRecord = Parameters<Fleet['workers']['set']>[1];

/** A host whose worker `w1` asks `open`. `answer` folds one entry: only the last answer of a worker is kept. */
function createScene(open: readonly string[], foldedTo: (seq: number) => Promise<void> = async () => {}) {
  const worker = { inputs: open.map((request) => ({ request })), lastAnswer: null as InputAnswer | null };
  const fleet = createFleet('main');
  fleet.workers.set('w1', { snapshot: { context: { worker } } } as unknown as WorkerRecord);
  const touchedNow = new Set([actorKey('worker', 'w1')]);
  const listeners = new Set<(actors: ReadonlySet<string>) => void>();
  const host = {
    foldedTo,
    fleet,
    observe({ touched }: { touched(actors: ReadonlySet<string>): void }) {
      listeners.add(touched);
      return () => void listeners.delete(touched);
    },
  } as unknown as Host;
  return {
    host,
    listeners,
    /** Folds the question of an agent. */
    ask: (request: string) => void worker.inputs.push({ request }),
    answer(request: string, approve: boolean) {
      worker.inputs = worker.inputs.filter((input) => input.request !== request);
      worker.lastAnswer = { request, approve } as unknown as InputAnswer;
      for (const listener of [...listeners]) listener(touchedNow);
    },
    withdraw(request: string) {
      worker.inputs = worker.inputs.filter((input) => input.request !== request);
      for (const listener of [...listeners]) listener(touchedNow);
    },
  };
}

test('answers that are folded together reach their own callers', async () => {
  const scene = createScene(['q1', 'q2', 'q3']);
  const { signal } = new AbortController();
  const waiting = ['q1', 'q2', 'q3'].map((request) => untilAnswered(scene.host, 'w1', { request, seq: 1 }, signal));
  await expect.poll(() => scene.listeners.size).toBe(3);
  scene.answer('q1', true);
  scene.withdraw('q2');
  scene.answer('q3', false);
  expect(await Promise.all(waiting)).toEqual([
    { request: 'q1', approve: true },
    null,
    { request: 'q3', approve: false },
  ]);
  expect(scene.listeners.size).toBe(0);
});

test('a question that is stored but not folded yet still waits', async () => {
  const scene = createScene([], async (seq) => {
    await new Promise(setImmediate);
    scene.ask(`q${seq}`);
  });
  const waiting = untilAnswered(scene.host, 'w1', { request: 'q7', seq: 7 }, new AbortController().signal);
  await expect.poll(() => scene.listeners.size).toBe(1);
  scene.answer('q7', true);
  expect(await waiting).toEqual({ request: 'q7', approve: true });
});
