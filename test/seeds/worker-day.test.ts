/**
 * Seed 004, worker persistence: a worker stays alive while there may be work, and goes when it has waited too long.
 * Its day from 12:00 to 12:49 stands here as the seed tells it, minute by minute, in virtual time;
 * `worker-live.test.ts` plays the same day on a NATS server.
 */
import { describe, expect, test } from 'vitest';
import type { Decision } from '../../machines/index.ts';
import { minutesAfter, play } from './play.ts';

const minute = 60_000;

describe('the day of a worker', () => {
  /** One line a minute: what it did, its idle minutes, and the answer where it would stop. */
  function liveTheDay(): string[] {
    const day = play({ default: { persistence: 'default' } });
    const told: string[] = [];
    const idleAt = (at: string) => (day.look(at).workers.w1?.idle.ms ?? 0) / minute;
    const poll = (at: string) => {
      day.say(at, 'worker.w1.heartbeat.sent');
      const decision = day.stop(at, 'w1') as Decision;
      const left = decision.idle.remainingMs === null ? '-' : decision.idle.remainingMs / minute;
      told.push(
        `${at} finds none: idle ${decision.idle.ms / minute}, ${left} left, ${decision.decision} ${decision.cause}`,
      );
    };
    const tell = (at: string, what: string) => told.push(`${at} ${what}: idle ${idleAt(at)}`);

    day.say('12:00', 'worker.w1.worker.registered');
    tell('12:00', 'registers');
    for (let count = 1; count <= 8; count += 1) poll(minutesAfter('12:00', count));
    day.say('12:09', 'task.T-1.task.created', { title: 'A task arrives' });
    const found = day.stop('12:09', 'w1') as Decision;
    told.push(`12:09 finds a task: idle ${found.idle.ms / minute}, ${found.decision} ${found.cause}`);
    day.say('12:09', 'worker.w1.task.claimed', { task: 'T-1' });
    tell('12:09', 'claims');
    for (let count = 10; count <= 38; count += 1) {
      const at = minutesAfter('12:00', count);
      day.say(at, 'worker.w1.tool.used', { tool: 'Edit' });
      tell(at, 'works');
    }
    day.say('12:39', 'worker.w1.task.completed', { task: 'T-1' });
    tell('12:39', 'completes');
    for (let count = 40; count <= 49; count += 1) poll(minutesAfter('12:00', count));
    told.push(`at the end: ${day.look('12:49').workers.w1?.state}`);
    return told;
  }

  test('from 12:00 to 12:49, minute by minute', () => {
    const working = Array.from({ length: 29 }, (_, index) => `${minutesAfter('12:10', index)} works: idle 0`);
    expect(liveTheDay()).toEqual([
      '12:00 registers: idle 0',
      '12:01 finds none: idle 1, 9 left, block idle',
      '12:02 finds none: idle 2, 8 left, block idle',
      '12:03 finds none: idle 3, 7 left, block idle',
      '12:04 finds none: idle 4, 6 left, block idle',
      '12:05 finds none: idle 5, 5 left, block idle',
      '12:06 finds none: idle 6, 4 left, block idle',
      '12:07 finds none: idle 7, 3 left, block idle',
      '12:08 finds none: idle 8, 2 left, block idle',
      '12:09 finds a task: idle 9, block pending-tasks',
      '12:09 claims: idle 0',
      ...working,
      '12:39 completes: idle 0',
      '12:40 finds none: idle 1, 9 left, block idle',
      '12:41 finds none: idle 2, 8 left, block idle',
      '12:42 finds none: idle 3, 7 left, block idle',
      '12:43 finds none: idle 4, 6 left, block idle',
      '12:44 finds none: idle 5, 5 left, block idle',
      '12:45 finds none: idle 6, 4 left, block idle',
      '12:46 finds none: idle 7, 3 left, block idle',
      '12:47 finds none: idle 8, 2 left, block idle',
      '12:48 finds none: idle 9, 1 left, block idle',
      '12:49 finds none: idle 10, 0 left, allow idle-timeout',
      'at the end: stopped',
    ]);
  });
});

describe('idle time', () => {
  test('is no total time: work that lasts hours, task after task, uses none of the ten minutes', () => {
    const day = play({ default: { persistence: 'default' } });
    day.say('08:00', 'worker.w1.worker.registered');
    for (let hour = 0; hour < 9; hour += 1) {
      const claimedAt = minutesAfter('08:05', hour * 60);
      day.say(claimedAt, 'worker.w1.task.claimed', { task: `T-${hour}` });
      const doneAt = minutesAfter(claimedAt, 50);
      day.say(doneAt, 'worker.w1.task.completed', { task: `T-${hour}` });
      // Nine minutes later it still has one: the window is a fresh one each time.
      expect(day.stop(minutesAfter(doneAt, 9), 'w1')).toMatchObject({
        decision: 'block',
        cause: 'idle',
        idle: { remainingMs: minute },
      });
    }
  });

  test('counts from the newest of registration, last claim and last completion', () => {
    const day = play({ default: { persistence: 'default' } });
    day.say('12:00', 'worker.w1.worker.registered');
    expect(day.look('12:03').workers.w1?.idle.ms).toBe(3 * minute);
    day.say('12:03', 'worker.w1.task.claimed', { task: 'T-1' });
    day.say('12:04', 'worker.w1.task.completed', { task: 'T-1' });
    expect(day.look('12:06').workers.w1?.idle.ms).toBe(2 * minute);
    day.say('12:06', 'worker.w1.worker.registered');
    expect(day.look('12:07').workers.w1?.idle.ms).toBe(minute);
  });

  test('a heartbeat alone does not reset it, a claim and a completion are a heartbeat too', () => {
    const day = play({ default: { persistence: 'default' } });
    day.say('12:00', 'worker.w1.worker.registered');
    day.say('12:05', 'worker.w1.heartbeat.sent');
    expect(day.look('12:05').workers.w1?.idle.ms).toBe(5 * minute);
    expect(day.look('12:08').workers.w1).toMatchObject({ presence: 'stale' });
    day.say('12:08', 'worker.w1.task.claimed', { task: 'T-1' });
    expect(day.look('12:08').workers.w1).toMatchObject({ presence: 'active', idle: { ms: 0 } });
    expect(day.look('12:11').workers.w1).toMatchObject({ presence: 'stale' });
    day.say('12:11', 'worker.w1.task.completed', { task: 'T-1' });
    expect(day.look('12:11').workers.w1).toMatchObject({ presence: 'active', idle: { ms: 0 } });
  });
});

describe('the answer', () => {
  test('a block says why, what waits and how long it may still wait', () => {
    const day = play({ default: { persistence: 'default' } });
    day.say('12:00', 'worker.w1.worker.registered');
    expect(day.stop('12:04', 'w1')).toMatchObject({
      decision: 'block',
      reason: 'No task waits; idle for 4m, 6m remain',
      nextPrompt: 'No task waits in queue main yet. Stay available and look again.',
      idle: { ms: 4 * minute, limitMs: 10 * minute, remainingMs: 6 * minute },
      pendingTasks: 0,
      state: 'blocked',
    });
    day.say('12:05', 'task.T-1.task.created');
    day.say('12:05', 'task.T-2.task.created');
    expect(day.stop('12:05', 'w1')).toMatchObject({
      decision: 'block',
      cause: 'pending-tasks',
      reason: '2 tasks wait in queue main',
      nextPrompt: '2 tasks wait in queue main. Claim the next task and work on it.',
      pendingTasks: 2,
    });
  });

  test('an approval says how long it was idle, and that no task waits', () => {
    const day = play({ default: { persistence: 'default' } });
    day.say('12:00', 'worker.w1.worker.registered');
    expect(day.stop('12:11', 'w1')).toMatchObject({
      decision: 'allow',
      action: 'complete',
      cause: 'idle-timeout',
      reason: 'Idle for 11m of 10m, and no task waits',
      idle: { ms: 11 * minute, remainingMs: 0 },
      pendingTasks: 0,
      state: 'stopped',
    });
  });

  test('waiting tasks are asked for first: past the timeout too the worker goes on', () => {
    const day = play({ default: { persistence: 'default' } });
    day.say('12:00', 'worker.w1.worker.registered');
    day.say('12:20', 'task.T-1.task.created');
    const decision = day.stop('12:20', 'w1');
    expect(decision).toMatchObject({ decision: 'block', cause: 'pending-tasks', idle: { remainingMs: 0 } });
    expect(decision?.verdicts.map(({ guard }) => guard)).not.toContain('idle');
  });

  test('each cycle is judged for itself: an earlier answer does not change a later one', () => {
    const one = play({ default: { persistence: 'default' } });
    const other = play({ default: { persistence: 'default' } });
    for (const day of [one, other]) day.say('12:00', 'worker.w1.worker.registered');
    for (let count = 1; count < 7; count += 1) one.stop(minutesAfter('12:00', count), 'w1');
    const essence = ({ seq: _, attempt: __, ...rest }: Decision) => rest;
    const [late, first] = [one.stop('12:07', 'w1'), other.stop('12:07', 'w1')];
    expect(essence(late as Decision)).toEqual(essence(first as Decision));
  });

  test('nothing is decided between two attempts, however long it is', () => {
    const day = play({ default: { persistence: 'default' } });
    day.say('12:00', 'worker.w1.worker.registered');
    day.look('23:00');
    expect(day.decided()).toEqual([]);
    expect(day.look('23:00').workers.w1?.state).toBe('idle');
  });
});

describe('profiles', () => {
  test.each([
    ['critical', 30],
    ['temporary', 5],
    ['default', 10],
  ])('%s: %i minutes', (profile, minutes) => {
    const day = play({ default: { persistence: 'default' } });
    day.say('12:00', 'worker.w1.worker.registered', { profile });
    expect(day.stop(minutesAfter('12:00', minutes - 1), 'w1')).toMatchObject({
      decision: 'block',
      idle: { limitMs: minutes * minute, remainingMs: minute },
    });
    expect(day.stop(minutesAfter('12:00', minutes), 'w1')).toMatchObject({ decision: 'allow', cause: 'idle-timeout' });
  });

  test('persistent: never by itself, only when somebody retires it', () => {
    const day = play({ default: { persistence: 'persistent' } });
    day.say('01:00', 'worker.w1.worker.registered');
    expect(day.stop('23:00', 'w1')).toMatchObject({
      decision: 'block',
      cause: 'idle',
      reason: 'No task waits; idle for 22h, no timeout',
      idle: { limitMs: null, remainingMs: null },
    });
    day.say('23:01', 'own.worker.w1.worker.retired', { by: 'ann' });
    expect(day.stop('23:02', 'w1')).toMatchObject({ decision: 'allow', cause: 'retired', state: 'stopped' });
  });
});

describe('a usage limit', () => {
  const limited = () => {
    const day = play({ default: { persistence: 'default' } });
    day.say('12:00', 'worker.w1.worker.registered');
    day.say('12:01', 'worker.w1.task.claimed', { task: 'T-1' });
    day.say('12:02', 'worker.w1.limit.reached', { until: '2026-03-02T12:30:00.000Z' });
    return day;
  };

  test('pauses the session: it may stop, and is not over', () => {
    const day = limited();
    expect(day.stop('12:02', 'w1')).toMatchObject({
      decision: 'allow',
      action: 'continue',
      cause: 'limited',
      state: 'idle',
      task: 'T-1',
    });
    expect(day.look('12:20').workers.w1).toMatchObject({ presence: 'limited', tasks: ['T-1'] });
  });

  test('over, the worker goes on where it stood', () => {
    const day = limited();
    day.stop('12:02', 'w1');
    expect(day.look('12:30').workers.w1?.presence).toBe('stale');
    day.say('12:31', 'worker.w1.prompt.submitted');
    expect(day.look('12:31').workers.w1).toMatchObject({ state: 'working', presence: 'active', tasks: ['T-1'] });
    day.say('12:40', 'worker.w1.task.completed', { task: 'T-1' });
    expect(day.look('12:40').tasks['T-1']).toMatchObject({ state: 'stopped', outcome: 'completed' });
  });

  test('or a new worker takes its place', () => {
    const day = limited();
    day.say('12:05', 'own.worker.w1.worker.retired', { by: 'coordinator' });
    expect(day.look('12:05')).toMatchObject({
      workers: { w1: { state: 'stopped' } },
      queues: { main: { pending: 1 } },
    });
    day.say('12:06', 'worker.w2.task.claimed', { task: 'T-1' });
    expect(day.look('12:06').tasks['T-1']).toMatchObject({ state: 'working', worker: 'w2' });
  });
});

test('a heartbeat is recent for two minutes, and old after them', () => {
  const day = play();
  day.say('12:00', 'worker.w1.heartbeat.sent');
  expect(day.look('12:00').workers.w1?.presence).toBe('active');
  expect(day.look('12:01:59.999').workers.w1?.presence).toBe('active');
  expect(day.look('12:02:00.001').workers.w1?.presence).toBe('stale');
  day.say('12:05', 'worker.w1.heartbeat.sent');
  expect(day.look('12:05').workers.w1?.presence).toBe('active');
});

test('with a hold a waiting worker costs no turn: one attempt stays open until a task arrives', () => {
  const day = play({ default: { persistence: { idle: '10m', hold: '9m' } } });
  day.say('12:00', 'worker.w1.worker.registered');
  expect(day.stop('12:01', 'w1', { attempt: 'a1' })).toBeNull();
  expect(day.look('12:08').workers.w1).toMatchObject({ state: 'validating', attempt: { attempt: 'a1' } });
  expect(day.decided()).toEqual([]);
  day.say('12:09', 'task.T-1.task.created');
  expect(day.decided()).toMatchObject([{ attempt: 'a1', decision: 'block', cause: 'pending-tasks' }]);
});

test('it degrades gracefully: no task, tasks, a limit, and tasks again', () => {
  const day = play({ default: { persistence: 'default' } });
  day.say('12:00', 'worker.w1.worker.registered');
  day.say('12:00', 'worker.w2.worker.registered');
  day.say('12:01', 'task.T-1.task.created');
  expect(day.stop('12:01', 'w1')).toMatchObject({ cause: 'pending-tasks' });
  day.say('12:02', 'worker.w1.limit.reached');
  expect(day.stop('12:02', 'w1')).toMatchObject({ cause: 'limited', action: 'continue' });
  day.say('12:02', 'worker.w2.task.claimed', { task: 'T-1' });
  day.say('12:03', 'worker.w2.task.completed', { task: 'T-1' });
  expect(day.stop('12:13', 'w2')).toMatchObject({ decision: 'allow', cause: 'idle-timeout' });
  day.say('12:20', 'task.T-2.task.created');
  day.say('12:21', 'worker.w3.worker.registered');
  expect(day.stop('12:21', 'w3')).toMatchObject({ decision: 'block', cause: 'pending-tasks' });
});
