/** Seed 004, Timeline Example: the day of a worker from 12:00 to 12:49, minute by minute. */
import { expect } from 'vitest';
import { holds, inCase, part } from '../rule.ts';
import { createVirtualLog, minutesAfter } from '../virtual-log.ts';

const minuteMs = 60_000;

const theDay = inCase('idle', 'the day of a worker, minute by minute');

export const day = part(
  'Timeline Example',
  holds('12:00 registers: idle 0', theDay),
  holds('12:01 to 12:08 polls and finds none: idle 1 to 8', theDay),
  holds('12:09 a task arrives, the worker claims it: idle 0, the 9 minutes are forgotten', theDay),
  holds('12:10 to 12:38 works: idle 0', theDay),
  holds('12:39 completes: idle 0 again', theDay),
  holds('12:40 to 12:48 polls and finds none: idle 1 to 9, from the completion', theDay),
  holds('12:49 idle 10, the limit: the stop is allowed', theDay),
  holds('each completion gives a fresh window of ten minutes', () => {
    const log = createVirtualLog({ default: { persistence: 'default' } });
    for (const [index, at] of ['08:00', '09:00', '10:00'].entries()) {
      log.publish(at, 'worker.w1.task.claimed', { task: `T-${index}` });
      const doneAt = minutesAfter(at, 30);
      log.publish(doneAt, 'worker.w1.task.completed', { task: `T-${index}` });
      expect(log.stop(minutesAfter(doneAt, 9), 'w1')).toMatchObject({
        decision: 'block',
        cause: 'idle',
        idle: { remainingMs: minuteMs },
      });
    }
  }),
);
