/**
 * Seed 004, from Idle Time vs Total Time to the Timeline Example, and from Checking for Pending Tasks to Idle Timer
 * Reset Points.
 */
import { expect } from 'vitest';
import type { Decision } from '../../../machines/index.ts';
import { differs, holds, inCase, part } from '../rule.ts';
import { day } from './day.ts';
import { minuteMs, registered } from './worker.ts';

export const idleTime = [
  part(
    'Idle Time vs Total Time',
    holds('total time is the wrong model: a task that arrives at minute 9 would get one minute', () => {
      const log = registered();
      log.publish('12:09', 'worker.w1.task.claimed', { task: 'T-1' });
      expect(log.workerAt('12:39').idle).toMatchObject({ ms: 0, remainingMs: 10 * minuteMs });
    }),
    holds('only the time spent waiting between tasks counts, and work resets it', () => {
      const log = registered();
      log.publish('12:09', 'worker.w1.task.claimed', { task: 'T-1' });
      log.publish('12:39', 'worker.w1.task.completed', { task: 'T-1' });
      expect(log.stop('12:41', 'w1')).toMatchObject({ decision: 'block', idle: { ms: 2 * minuteMs } });
    }),
  ),
  part(
    'Last Activity Tracking',
    holds('the most recent of registration, last claim and last completion is the last activity', () => {
      const log = registered();
      expect(log.workerAt('12:03').idle.ms).toBe(3 * minuteMs);
      log.publish('12:03', 'worker.w1.task.claimed', { task: 'T-1' });
      log.publish('12:04', 'worker.w1.task.completed', { task: 'T-1' });
      expect(log.workerAt('12:06').idle.ms).toBe(2 * minuteMs);
      log.publish('12:06', 'worker.w1.worker.registered');
      expect(log.workerAt('12:07').idle.ms).toBe(minuteMs);
    }),
    differs(
      'the times of registration, last claim and last completion are tracked',
      'a view has `idle`, because only the most recent of them decides, and the time of the last entry, `lastSeen`; each single time is in the log',
      async ({ service }) => {
        const worker = await service.worker({ persistence: { idle: '1m' } }, { queue: service.newId('queue') });
        const task = service.newId('T');
        for (const type of ['task.claimed', 'task.completed', 'heartbeat.sent'])
          await worker.publish(type, type.startsWith('task.') ? { task } : {});
        const types = ['worker.registered', 'task.claimed', 'task.completed', 'heartbeat.sent'];
        const stored = await service.entries(...types.map((type) => `worker.${worker.id}.${type}`));
        expect(stored.map(({ subject }) => types.findIndex((type) => subject.endsWith(type)))).toEqual([0, 1, 2, 3]);
        expect((await worker.view()).lastSeen).toBe(stored.at(-1)?.at);
      },
    ),
    holds('idle time is not counted from the registration', () => {
      const log = registered();
      log.publish('12:01', 'worker.w1.task.claimed', { task: 'T-1' });
      log.publish('12:20', 'worker.w1.task.completed', { task: 'T-1' });
      expect(log.workerAt('12:21').idle.ms).toBe(minuteMs);
    }),
  ),
  day,
];

export const logic = [
  part(
    'Checking for Pending Tasks',
    holds(
      'first: if tasks wait, the worker continues, however long it has been idle',
      inCase('pending', 'a waiting task precedes the timeout'),
    ),
    holds('if none waits, the idle time is checked', () => {
      const decision = registered().stop('12:01', 'w1') as Decision;
      expect(decision.verdicts.slice(-2)).toMatchObject([{ guard: 'pending', verdict: 'pass' }, { guard: 'idle' }]);
    }),
    holds('the tasks of its own queue count, until somebody claims them', async ({ service }) => {
      const [queue, other, task] = [service.newId('queue'), service.newId('queue'), service.newId('T')];
      const policy = { persistence: { idle: '1m' } };
      const [one, two] = [await service.worker(policy, { queue }), await service.worker(policy, { queue })];
      await service.wire.publish(`task.${service.newId('T')}.task.created`, { queue: other });
      expect(await one.stop()).toMatchObject({ cause: 'idle', pendingTasks: 0 });
      await service.wire.publish(`task.${task}.task.created`, { queue });
      for (const worker of [one, two]) expect(await worker.stop()).toMatchObject({ cause: 'pending-tasks' });
      for (const worker of [one, two]) await worker.publish('task.claimed', { task });
      expect(await one.view()).toMatchObject({ state: 'working', tasks: [task] });
      expect(await two.view()).toMatchObject({ tasks: [], refused: [{ type: 'task.claimed' }] });
      expect(await two.stop()).toMatchObject({ decision: 'block', cause: 'idle', pendingTasks: 0 });
    }),
  ),
  part(
    'Calculating Idle Time',
    holds('the time since the most recent activity, by the times of the log', async ({ service }) => {
      const worker = await service.worker({ persistence: { idle: '1m' } }, { queue: service.newId('queue') });
      const task = service.newId('T');
      await worker.publish('task.claimed', { task });
      await worker.publish('task.completed', { task });
      const storedAt = async (type: string) =>
        Date.parse((await service.entries(`worker.${worker.id}.${type}`)).at(-1)?.at ?? '');
      const completedMs = await storedAt('task.completed');
      await expect.poll(() => Date.now() - completedMs).toBeGreaterThan(20);
      const decision = await worker.stop();
      const attemptedMs = await storedAt('stop.attempted');
      expect(attemptedMs).toBeGreaterThan(completedMs);
      expect(Date.parse(decision.at), 'the decision has the time of its entry').toBe(attemptedMs);
      expect(decision.idle.ms).toBe(attemptedMs - completedMs);
    }),
  ),
  part(
    'Comparing Against Threshold',
    holds('under the threshold: block, with the remaining time', () => {
      expect(registered().stop('12:04', 'w1')).toMatchObject({
        decision: 'block',
        idle: { ms: 4 * minuteMs, limitMs: 10 * minuteMs, remainingMs: 6 * minuteMs },
      });
    }),
    differs(
      'over the threshold: approve, with the timeout as the reason',
      'at exactly the threshold as well, because the timeline of the seed says so',
      () => {
        expect(registered().stop('12:11', 'w1')).toMatchObject({
          decision: 'allow',
          reason: 'Idle for 11m of 10m, and no task waits',
        });
        expect(registered().stop('12:10', 'w1')).toMatchObject({ decision: 'allow', cause: 'idle-timeout' });
        expect(registered().stop('12:09:59.999', 'w1')).toMatchObject({ decision: 'block' });
      },
    ),
  ),
  part(
    'Idle Timer Reset Points',
    holds('a claim resets the idle time to zero, and is a heartbeat', () => {
      const log = registered();
      expect(log.workerAt('12:08')).toMatchObject({ presence: 'stale', idle: { ms: 8 * minuteMs } });
      log.publish('12:08', 'worker.w1.task.claimed', { task: 'T-1' });
      expect(log.workerAt('12:08')).toMatchObject({ presence: 'active', idle: { ms: 0 } });
    }),
    holds('a completion resets the idle time to zero, and is a heartbeat', () => {
      const log = registered();
      log.publish('12:01', 'worker.w1.task.claimed', { task: 'T-1' });
      expect(log.workerAt('12:08').presence).toBe('stale');
      log.publish('12:08', 'worker.w1.task.completed', { task: 'T-1' });
      expect(log.workerAt('12:08')).toMatchObject({ presence: 'active', idle: { ms: 0 } });
      expect(log.workerAt('12:09').idle.ms).toBe(minuteMs);
    }),
    differs(
      'only these two moments reset it',
      'a registration and any other end of a held task reset it too, because the worker begins to wait then',
      () => {
        const log = registered();
        for (const [tail, data] of [
          ['heartbeat.sent', {}],
          ['prompt.submitted', {}],
          ['tool.used', { tool: 'Read' }],
          ['plan.updated', { steps: [] }],
        ] as const)
          log.publish('12:05', `worker.w1.${tail}`, data);
        expect(log.workerAt('12:06').idle.ms).toBe(6 * minuteMs);
        for (const [index, tail] of ['task.failed', 'task.released'].entries()) {
          const end = registered();
          end.publish('12:05', 'worker.w1.task.claimed', { task: `T-${index}` });
          end.publish('12:20', `worker.w1.${tail}`, { task: `T-${index}` });
          expect(end.workerAt('12:21').idle.ms).toBe(minuteMs);
        }
        log.publish('12:07', 'worker.w1.worker.registered');
        expect(log.workerAt('12:08').idle.ms).toBe(minuteMs);
      },
    ),
  ),
];
