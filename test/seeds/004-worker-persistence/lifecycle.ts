/** Seed 004, from The Problem to Stop Hook Output Patterns: when a worker stays, and when it may stop. */
import { expect } from 'vitest';
import type { Decision } from '../../../machines/index.ts';
import { initClaude } from '../claude-settings.ts';
import { differs, holds, inCase, part } from '../rule.ts';
import { createVirtualLog, minutesAfter } from '../virtual-log.ts';
import { idleTime, logic } from './idle-time.ts';
import { minuteMs, persistent, registered } from './worker.ts';

const problem = [
  part(
    'The Problem',
    holds('a worker that finds no task must stay alive and look again', async ({ service }) => {
      const worker = await service.worker({ persistence: { idle: '1m' } }, { queue: service.newId('queue') });
      for (let count = 0; count < 3; count += 1) {
        await worker.publish('heartbeat.sent');
        expect(await worker.stop()).toMatchObject({ decision: 'block', cause: 'idle', pendingTasks: 0 });
      }
      expect(await worker.view()).toMatchObject({ state: 'blocked', presence: 'active' });
    }),
  ),
  part(
    'The Solution: Stop Hooks',
    holds('a stop hook can block the stop', () => {
      expect(registered().stop('12:04', 'w1')).toMatchObject({ decision: 'block', state: 'blocked' });
    }),
    holds('it can say why the worker must continue', () => {
      expect(registered().stop('12:04', 'w1')).toMatchObject({
        reason: 'No task waits in queue main. Stay available for 6 more minutes and look again',
        nextPrompt: 'No task waits in queue main. Stay available for 6 more minutes and look again.',
      });
    }),
    holds('it allows the stop only under certain conditions', () => {
      const log = registered({ default: { persistence: { idle: '7m' } } });
      expect([6, 7].map((minute) => log.stop(minutesAfter('12:00', minute), 'w1')?.decision)).toEqual([
        'block',
        'allow',
      ]);
    }),
  ),
  part(
    'Hook Execution Flow',
    holds('the hook is triggered before the stop, and the worker waits for its answer', () => {
      const log = registered({ default: { persistence: { idle: '10m', hold: '9m' } } });
      expect(log.stop('12:01', 'w1'), 'it is not answered yet').toBeNull();
      expect(log.workerAt('12:02').state).toBe('validating');
      log.viewAt('12:10');
      expect(log.takeDecisions()).toMatchObject([{ decision: 'allow', state: 'stopped' }]);
    }),
    differs(
      '"approve": the agent stops gracefully',
      'the word is `allow`, because each agent has a word of its own; Claude Code gets an empty answer',
      () => {
        const log = registered();
        expect(log.stop('12:10', 'w1')).toMatchObject({ decision: 'allow', action: 'complete', nextPrompt: null });
        expect(log.workerAt('12:10').state).toBe('stopped');
      },
    ),
    holds('"block" and a reason: the agent continues with new instructions', () => {
      const log = registered();
      for (const task of ['T-1', 'T-2']) log.publish('12:05', `task.${task}.task.created`);
      expect(log.stop('12:05', 'w1')).toMatchObject({
        decision: 'block',
        action: 'continue',
        reason: '2 tasks wait in queue main: T-1, T-2',
        nextPrompt: '2 tasks wait in queue main: T-1, T-2. Claim the next task and work on it.',
      });
    }),
  ),
  part(
    'Hook Configuration Pattern',
    holds('the settings name the command, its timeout and its type', async () => {
      const { Stop: http } = await initClaude('--form', 'http');
      expect(http?.[0]?.hooks).toEqual([{ type: 'http', url: expect.stringContaining('/hooks/claude'), timeout: 600 }]);
      const { Stop: command } = await initClaude('--form', 'command');
      expect(command?.[0]?.hooks).toEqual([
        { type: 'command', command: expect.stringContaining('claude'), timeout: 600 },
      ]);
    }),
  ),
  part(
    'Hook Decision Logic',
    holds('the conditions are evaluated, and the decision comes with a reason', () => {
      const log = registered();
      const guards = ({ verdicts }: Decision) => verdicts.map(({ guard, verdict }) => `${guard} ${verdict}`).slice(-2);
      const [block, allow] = [log.stop('12:04', 'w1'), log.stop('12:11', 'w1')] as [Decision, Decision];
      expect(guards(block)).toEqual(['pending pass', 'idle block']);
      expect(block.reason).toBe('No task waits in queue main. Stay available for 6 more minutes and look again');
      expect(guards(allow)).toEqual(['pending pass', 'idle allow']);
      expect(allow.reason).toBe('Idle for 11m of 10m, and no task waits');
    }),
  ),
];

const loop = [
  part(
    'Continuous Polling Loop',
    holds('1, 2: the worker sends a heartbeat, and looks for tasks', () => {
      const log = registered();
      expect(log.workerAt('12:05').presence).toBe('stale');
      log.publish('12:05', 'worker.w1.heartbeat.sent');
      expect(log.workerAt('12:05').presence).toBe('active');
      log.publish('12:05', 'task.T-1.task.created');
      expect(log.viewAt('12:05').queues.main).toMatchObject({ pending: 1 });
    }),
    holds('3: it claims the task, works, completes it, and its idle timer is reset', () => {
      const log = registered();
      log.publish('12:05', 'task.T-1.task.created');
      log.publish('12:06', 'worker.w1.task.claimed', { task: 'T-1' });
      expect(log.viewAt('12:06')).toMatchObject({
        queues: { main: { pending: 0 } },
        tasks: { 'T-1': { state: 'working', worker: 'w1' } },
      });
      log.publish('12:20', 'worker.w1.task.completed', { task: 'T-1' });
      expect(log.viewAt('12:20')).toMatchObject({
        tasks: { 'T-1': { state: 'stopped', outcome: 'completed' } },
        workers: { w1: { state: 'idle', idle: { ms: 0 } } },
      });
    }),
    differs(
      '4: without a task it waits briefly, and loops',
      'or the stop is held, because each wait of an agent costs a turn: with `hold` one request stays open until a task arrives',
      async ({ service }) => {
        const queue = service.newId('queue');
        const worker = await service.worker({ persistence: { idle: '1m', hold: '30s', queue } });
        const held = worker.stop({ attempt: 'a1' });
        await expect.poll(async () => (await worker.view()).state).toBe('validating');
        await service.wire.publish(`task.${service.newId('T')}.task.created`, { queue });
        expect(await held).toMatchObject({ attempt: 'a1', decision: 'block', cause: 'pending-tasks', pendingTasks: 1 });
        expect(await service.entries(`worker.${worker.id}.stop.attempted`)).toHaveLength(1);
      },
    ),
    holds('the loop never ends on its own; the stop hook ends it', () => {
      const log = registered();
      expect(log.workerAt('23:00').state).toBe('idle');
      expect(log.stop('23:00', 'w1')).toMatchObject({ decision: 'allow', cause: 'idle-timeout', state: 'stopped' });
    }),
  ),
  part(
    'Stop Hook Integration',
    holds('tasks exist, or idle under the threshold: block', () => {
      const log = registered();
      expect(log.stop('12:09:59', 'w1')).toMatchObject({ decision: 'block', cause: 'idle' });
      log.publish('12:30', 'task.T-1.task.created');
      expect(log.stop('12:30', 'w1')).toMatchObject({ decision: 'block', cause: 'pending-tasks' });
    }),
    holds(
      'no task, and idle time exceeded: approve',
      inCase('pending', 'without a task, a stop after the idle limit is allowed'),
    ),
  ),
];

const strategies = [
  part(
    'Configurable Timeout Strategies',
    holds('workers of different types have different idle thresholds', () => {
      const log = createVirtualLog(persistent);
      for (const profile of ['critical', 'temporary'])
        log.publish('12:00', `worker.${profile}.worker.registered`, { profile });
      log.publish('12:00', 'worker.default.worker.registered');
      const limits = Object.entries(log.viewAt('12:00').workers).map(([id, { idle }]) => [id, idle.limitMs]);
      expect(Object.fromEntries(limits)).toEqual({
        critical: 30 * minuteMs,
        temporary: 5 * minuteMs,
        default: 10 * minuteMs,
      });
    }),
    holds('critical: 30 minutes', inCase('idle', 'critical: thirty minutes')),
    holds('temporary: 5 minutes', inCase('idle', 'temporary: five minutes')),
    holds('persistent: no timeout, until somebody ends it', () => {
      const log = registered({ default: { persistence: 'persistent' } });
      expect(log.stop('23:00', 'w1')).toMatchObject({
        decision: 'block',
        cause: 'idle',
        reason: 'No task waits in queue main. Stay available and look again',
        idle: { limitMs: null, remainingMs: null },
      });
      log.publish('23:01', 'own.worker.w1.worker.retired', { by: 'ann' });
      expect(log.stop('23:02', 'w1')).toMatchObject({ decision: 'allow', cause: 'retired', state: 'stopped' });
    }),
    differs(
      'persistent is not recommended if there are rate limits',
      '`keepAlives` of the policy limits how often it is kept alive, because nothing else would end it',
      () => {
        const policy = { persistence: 'persistent', keepAlives: 2 };
        const log = registered({ default: policy });
        expect([1, 2, 3].map(() => log.stop('12:01', 'w1')?.cause)).toEqual(['idle', 'idle', 'capped']);
        const waited = registered({ default: policy });
        waited.publish('12:01', 'task.T-1.task.created');
        expect(
          [1, 2, 3].map(() => waited.stop('12:01', 'w1')?.cause),
          'a task that waits is no exception',
        ).toEqual(['pending-tasks', 'pending-tasks', 'capped']);
      },
    ),
  ),
  part(
    'Stop Hook Output Patterns',
    holds('block: the decision, why, the remaining time, the tasks available', () => {
      const log = registered();
      expect(log.stop('12:03', 'w1'), 'no task waits: the text has the time').toMatchObject({
        decision: 'block',
        pendingTasks: 0,
        idle: { remainingMs: 7 * minuteMs },
        reason: 'No task waits in queue main. Stay available for 7 more minutes and look again',
      });
      expect(log.stop('12:03:01', 'w1')?.reason, 'rounded up').toContain('for 7 more minutes');
      const create = (task: string, data: object) => log.publish('12:04', `task.${task}.task.created`, data);
      create('T-1', { title: 'Fix login' });
      create('T-2', { title: 'Write docs' });
      expect(log.stop('12:04', 'w1'), 'tasks wait: the text has them').toMatchObject({
        decision: 'block',
        reason: '2 tasks wait in queue main: T-1 Fix login, T-2 Write docs',
        pendingTasks: 2,
        nextPrompt: expect.stringContaining('T-1 Fix login, T-2 Write docs'),
        idle: { remainingMs: 6 * minuteMs },
      });
      create('T-3', {});
      create('T-4', { title: 'Now', priority: 9 });
      expect(log.stop('12:05', 'w1'), 'three of them, the first to claim first').toMatchObject({
        reason: expect.stringMatching(/^4 tasks wait in queue main: T-4 Now, T-1 Fix login, T-2 Write docs/),
      });
    }),
    holds('approve: the decision, why, how long idle, no task available', () => {
      expect(registered().stop('12:11', 'w1')).toMatchObject({
        decision: 'allow',
        reason: 'Idle for 11m of 10m, and no task waits',
        pendingTasks: 0,
        idle: { ms: 11 * minuteMs, remainingMs: 0 },
      });
    }),
  ),
];

export const lifecycle = [...problem, ...idleTime, ...loop, ...logic, ...strategies];
