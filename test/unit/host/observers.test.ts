/** Observers never affect the fold. */
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createFleet, foldEntry, readEntry } from '../../../machines/index.ts';
import { createObservers, type Observer } from '../../../src/host/fold/observers.ts';
import type { LogMessage } from '../../../src/nats/log/log-reader.ts';

const message = { seq: 1, atMs: 1, subject: 'stopgate.main.worker.w1.tool.used' } as LogMessage;

function createScene() {
  const fleet = createFleet('main');
  const lines: { level: number; msg: string }[] = [];
  const observers = createObservers(
    fleet,
    pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) }),
  );
  return { fleet, observers, lines };
}

const fail = () => {
  throw new RangeError('Maximum call stack size exceeded');
};
const failing: Required<Observer> = {
  worker: fail,
  task: fail,
  queue: fail,
  folded: fail,
  touched: fail,
  pending: fail,
};

test('an observer that throws is logged once, and affects neither the fold nor other observers', () => {
  const { fleet, observers, lines } = createScene();
  const seen: string[] = [];
  observers.add(failing);
  observers.add({
    worker: (id) => seen.push(id),
    folded: ({ subject }) => seen.push(subject),
    touched: (actors) => seen.push(...actors),
  });
  const entry = readEntry(message.subject, '{"tool":"Bash"}', 15);
  if (entry === null || !('data' in entry)) throw new Error('no entry');
  foldEntry(fleet, { seq: 1, atMs: 1, entry });
  observers.folded(message);
  observers.touched(new Set(['task/T-1', 'worker/w2']));
  expect(fleet.workers.read('w1')?.snapshot.value.state).toBe('working');
  expect(seen).toEqual(['w1', 'w1', message.subject, 'task/T-1', 'worker/w2']);
  expect(lines).toMatchObject([{ level: 50, msg: 'an observer of the fold failed: a bug' }]);
});

test('without observers the fold reports nothing', () => {
  const { fleet, observers } = createScene();
  const removals = [observers.add(failing), observers.add({ folded: fail })];
  expect(fleet.watcher).not.toBeNull();
  for (const remove of removals) remove();
  expect(fleet.watcher).toBeNull();
  observers.folded(message);
});
