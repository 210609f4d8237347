/** Seed 004, Timeline Example: the day of a worker from 12:00 to 12:49, minute by minute, in virtual time. */
import { expect } from 'vitest';
import type { Decision } from '../../../machines/index.ts';
import { type Check, holds, part } from '../rule.ts';
import { createVirtualLog, minutesAfter } from '../virtual-log.ts';

const minuteMs = 60_000;

/** A line for each thing that the worker does: its idle minutes then, and the answer where it would stop. */
function liveTheDay(): string[] {
  const log = createVirtualLog({ default: { persistence: 'default' } });
  const lines: string[] = [];
  const note = (at: string, what: string) => {
    const { idle, state } = log.viewAt(at).workers.w1 ?? {};
    lines.push(`${at} ${what}: idle ${(idle?.ms ?? Number.NaN) / minuteMs}, ${state}`);
  };
  const poll = (at: string) => {
    log.publish(at, 'worker.w1.heartbeat.sent');
    const { decision, cause, idle, state } = log.stop(at, 'w1') as Decision;
    lines.push(`${at} would stop: idle ${idle.ms / minuteMs}, ${decision} ${cause}, ${state}`);
  };
  log.publish('12:00', 'worker.w1.worker.registered');
  note('12:00', 'registers');
  for (let minute = 1; minute <= 8; minute += 1) poll(minutesAfter('12:00', minute));
  log.publish('12:09', 'task.T-1.task.created');
  poll('12:09');
  log.publish('12:09', 'worker.w1.task.claimed', { task: 'T-1' });
  note('12:09', 'claims');
  for (let minute = 10; minute <= 38; minute += 1) {
    const at = minutesAfter('12:00', minute);
    log.publish(at, 'worker.w1.tool.used', { tool: 'Edit' });
    note(at, 'works');
  }
  log.publish('12:39', 'worker.w1.task.completed', { task: 'T-1' });
  note('12:39', 'completes');
  for (let minute = 40; minute <= 49; minute += 1) poll(minutesAfter('12:00', minute));
  return lines;
}

/** The lines of these minutes, in order, are those. */
const tells =
  (from: string, to: string, ...expected: readonly string[]): Check =>
  () =>
    expect(liveTheDay().filter((line) => line.slice(0, 5) >= from && line.slice(0, 5) <= to)).toEqual(expected);

const polls = (from: string, to: string, first: number): Check => {
  const count = Number(to.slice(3)) - Number(from.slice(3)) + 1;
  const lines = Array.from(
    { length: count },
    (_, index) => `${minutesAfter(from, index)} would stop: idle ${first + index}, block idle, blocked`,
  );
  return tells(from, to, ...lines);
};

export const day = part(
  'Timeline Example',
  holds('12:00 registers: idle 0', tells('12:00', '12:00', '12:00 registers: idle 0, idle')),
  holds('12:01 to 12:08 polls and finds none: idle 1 to 8', polls('12:01', '12:08', 1)),
  holds(
    '12:09 a task arrives, the worker claims it: idle 0, the 9 minutes are forgotten',
    tells('12:09', '12:09', '12:09 would stop: idle 9, block pending-tasks, blocked', '12:09 claims: idle 0, working'),
  ),
  holds(
    '12:10 to 12:38 works: idle 0',
    tells(
      '12:10',
      '12:38',
      ...Array.from({ length: 29 }, (_, index) => `${minutesAfter('12:10', index)} works: idle 0, working`),
    ),
  ),
  holds('12:39 completes: idle 0 again', tells('12:39', '12:39', '12:39 completes: idle 0, idle')),
  holds('12:40 to 12:48 polls and finds none: idle 1 to 9, from the completion', polls('12:40', '12:48', 1)),
  holds(
    '12:49 idle 10, the limit: the stop is allowed',
    tells('12:49', '12:49', '12:49 would stop: idle 10, allow idle-timeout, stopped'),
  ),
  holds('each completion gives a fresh window of ten minutes', () => {
    const log = createVirtualLog({ default: { persistence: 'default' } });
    for (const [index, at] of ['08:00', '09:00', '10:00'].entries()) {
      log.publish(at, 'worker.w1.task.claimed', { task: `T-${index}` });
      const doneAt = minutesAfter(at, 30);
      log.publish(doneAt, 'worker.w1.task.completed', { task: `T-${index}` });
      expect(log.stop(minutesAfter(doneAt, 9), 'w1')).toMatchObject({
        ...{ decision: 'block', cause: 'idle', idle: { remainingMs: minuteMs } },
      });
    }
  }),
);
