/** The moves of the last ten minutes, which a newly opened page receives. */
import { expect, test } from 'vitest';
import type { Transition } from '../../../src/inspector/messages.ts';
import { createMoves } from '../../../src/inspector/moves.ts';

const minute = 60_000;
const prompted: Transition = { machine: 'worker', from: 'idle', to: 'working', event: 'prompt.submitted', count: 1 };
const closed: Transition = { machine: 'task', from: 'blocked', to: 'stopped', event: 'attempt.closed', count: 1 };

test('counts transitions per minute, without self-transitions', () => {
  const moves = createMoves(0);
  moves.add(minute, [prompted]);
  moves.add(minute + 1, [prompted]);
  moves.add(minute + 2, [{ ...prompted, from: 'working', event: 'tool.used' }]);
  moves.add(3 * minute, [closed]);
  expect(moves.read(4 * minute)).toEqual({
    sinceMs: 0,
    minutes: [
      { minuteMs: minute, transitions: [{ ...prompted, count: 2 }] },
      { minuteMs: 3 * minute, transitions: [closed] },
    ],
  });
});

test('forgets transitions older than ten minutes', () => {
  const moves = createMoves(minute);
  for (let index = 1; index <= 20; index += 1) moves.add(index * minute, [prompted]);
  const { sinceMs, minutes } = moves.read(21 * minute);
  expect(sinceMs).toBe(11 * minute);
  expect(minutes.map(({ minuteMs }) => minuteMs / minute)).toEqual([11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);
});

test("a page continues from the service's counts", () => {
  const service = createMoves(0);
  service.add(minute, [prompted]);
  const page = createMoves();
  page.reset(service.last(), service.read(2 * minute));
  expect(page.last()).toEqual({ worker: prompted, task: null });
  page.add(2 * minute, [prompted, closed, { ...closed, from: 'stopped' }]);
  expect(page.last()).toEqual({ worker: prompted, task: closed });
  expect(page.totals('worker')).toEqual([{ ...prompted, count: 2 }]);
  expect(page.totals('task')).toEqual([closed]);
});
