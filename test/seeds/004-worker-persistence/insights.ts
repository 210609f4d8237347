/** Seed 004, Rate Limit Considerations, Key Insights and Summary. */
import { expect } from 'vitest';
import type { Decision, TaskView, WorkerView } from '../../../machines/index.ts';
import type { Host } from '../../../src/host/host.ts';
import { list } from '../../../src/service/list.ts';
import { runCommand } from '../../support/command.ts';
import type { Folder } from '../../support/deployment.ts';
import { differs, holds, inCase, part } from '../rule.ts';
import type { SeedService } from '../service.ts';
import { createVirtualLog, minutesAfter, planOf } from '../virtual-log.ts';
import { fleetAfter } from './timed-replica.ts';
import { minuteMs, persistent, registered } from './worker.ts';

/** Creates a worker that holds a task and has reached a usage limit until 12:30. */
function limited() {
  const log = registered();
  log.publish('12:01', 'worker.w1.task.claimed', { task: 'T-1' });
  log.publish('12:02', 'worker.w1.limit.reached', { until: '2026-03-02T12:30:00.000Z' });
  return log;
}

const limits = part(
  'Rate Limit Considerations',
  holds('the session pauses, and does not end', () => {
    const log = limited();
    expect(log.stop('12:02', 'w1')).toMatchObject({
      decision: 'allow',
      action: 'continue',
      cause: 'limited',
      state: 'idle',
      task: 'T-1',
    });
    expect(log.workerAt('12:20').tasks).toEqual(['T-1']);
  }),
  differs(
    'its heartbeat stops, and the worker appears inactive',
    '`limited` while the limit holds, because it will come back; `stale` after it',
    () => {
      const log = limited();
      expect(log.workerAt('12:29').presence).toBe('limited');
      expect(log.workerAt('12:30').presence).toBe('stale');
    },
  ),
  holds('after the limit the worker resumes', () => {
    const log = limited();
    log.stop('12:02', 'w1');
    log.publish('12:31', 'worker.w1.prompt.submitted');
    expect(log.workerAt('12:31')).toMatchObject({ state: 'working', presence: 'active', tasks: ['T-1'] });
    log.publish('12:40', 'worker.w1.task.completed', { task: 'T-1' });
    expect(log.viewAt('12:40').tasks['T-1']).toMatchObject({ state: 'stopped', outcome: 'completed' });
  }),
  differs(
    'or a new worker replaces it',
    'when somebody retires the old one, because a task has one worker at a time: its tasks go back to their queue',
    () => {
      const log = limited();
      log.publish('12:05', 'own.worker.w1.worker.retired', { by: 'coordinator' });
      expect(log.viewAt('12:05')).toMatchObject({
        workers: { w1: { state: 'stopped' } },
        queues: { main: { pending: 1 } },
      });
      log.publish('12:06', 'worker.w2.task.claimed', { task: 'T-1' });
      expect(log.viewAt('12:06').tasks['T-1']).toMatchObject({ state: 'working', worker: 'w2' });
    },
  ),
  differs(
    'a worker that stays inactive is replaced without anybody’s help',
    'with `releaseAfter` the service returns its tasks to their queue; it is off by default, because a silent worker may be at work',
    () => {
      const claim = [
        ['task.T-1.task.created', {}],
        ['worker.w1.task.claimed', { task: 'T-1' }],
      ] as const;
      const policy = (more: object) => ['own.fleet.main.policy.set', { policies: {}, ...more }] as const;
      const released = [policy({ releaseAfter: '5m' }), ...claim];
      expect(fleetAfter(6.9, released), 'stale after 2 minutes').toMatchObject({
        workers: { w1: { presence: 'stale' } },
        tasks: { 'T-1': { state: 'working', worker: 'w1' } },
      });
      expect(fleetAfter(7.1, released)).toMatchObject({
        workers: { w1: { state: 'idle', tasks: [] } },
        tasks: { 'T-1': { state: 'idle', worker: null } },
        queues: { main: { pending: 1 } },
      });
      expect(fleetAfter(60, [policy({}), ...claim]).tasks['T-1']).toMatchObject({ worker: 'w1' });

      const log = registered(persistent, { releaseAfter: '5m' });
      log.publish('12:01', 'worker.w1.task.claimed', { task: 'T-1' });
      log.publish('12:09', 'worker.w2.task.claimed', { task: 'T-1' });
      log.publish('12:10', 'worker.w1.task.completed', { task: 'T-1' });
      expect(log.viewAt('12:10').tasks['T-1']).toMatchObject({ state: 'working', worker: 'w2' });
      expect(log.refusals()).toEqual(['worker w1 does not hold task T-1']);
    },
  ),
  holds('coordinators detect inactive workers', async ({ service }) => {
    const [active, paused] = [
      await service.worker({}, { agent: 'detected' }),
      await service.worker({}, { agent: 'detected' }),
    ];
    await paused.publish('limit.reached');
    const listed = async (presence: string) => {
      const { body } = await service.wire.ask('list.workers', { presence, agent: 'detected' });
      return (body as unknown as { items: WorkerView[] }).items.map(({ worker }) => worker);
    };
    expect(await listed('active')).toEqual([active.id]);
    expect(await listed('limited')).toEqual([paused.id]);
    expect(await listed('stale')).toEqual([]);

    const log = createVirtualLog();
    for (const [at, worker] of [
      ['12:00', 'w1'],
      ['12:02', 'w2'],
      ['12:03', 'w3'],
    ] as const)
      log.publish(at, `worker.${worker}.worker.registered`);
    log.viewAt('12:04');
    const { fleet } = log;
    // Two minutes of real time are too long, so the service's list shows a fleet in virtual time.
    const host = { fleet, caughtUp: async () => {}, logNow: () => fleet.nowMs, pendingReply: () => null };
    const found = async (presence: string) =>
      (await list(host as unknown as Host, 'workers', { presence })).items.map(
        (item) => 'worker' in item && item.worker,
      );
    expect(await found('stale')).toEqual(['w1']);
    expect(await found('active')).toEqual(['w2', 'w3']);
    log.viewAt('12:04:00.001');
    expect(await found('stale')).toEqual(['w1', 'w2']);
  }),
  holds('a heartbeat within 2 minutes: active', () => {
    const log = registered();
    log.publish('12:05', 'worker.w1.heartbeat.sent');
    expect(log.workerAt('12:05').presence).toBe('active');
    expect(log.workerAt('12:06:59.999').presence).toBe('active');
    expect(log.workerAt('12:07').presence, 'two minutes are within two minutes').toBe('active');
  }),
  holds('a heartbeat over 2 minutes old: inactive, or rate-limited', () => {
    const log = registered();
    log.publish('12:05', 'worker.w1.heartbeat.sent');
    expect(log.workerAt('12:07:00.001').presence).toBe('stale');
    log.publish('12:08', 'worker.w1.limit.reached');
    expect(log.workerAt('12:20').presence).toBe('limited');
  }),
);

/** Runs `stopgate loop --queue` with an agent that only prints its task. */
const runLoop = (service: SeedService, folder: Folder, worker: string, queue: string) =>
  runCommand(
    [
      'loop',
      '--worker',
      worker,
      '--queue',
      queue,
      '--pause',
      '0',
      '--nats',
      service.url,
      '--',
      'sh',
      '-c',
      'echo "$STOPGATE_TASK"',
    ],
    { cwd: folder.path },
  );
const outcomeOf = async (service: SeedService, task: string) =>
  ((await service.wire.ask(`get.task.${task}`)).body as unknown as TaskView).outcome;

const cycles = [
  part(
    'Key Insights: 1. Discrete Cycle Model',
    holds('checkpoints, not continuous monitoring: nothing is decided between two attempts', () => {
      const log = registered();
      expect(log.stop('12:05', 'w1')).toMatchObject({ decision: 'block' });
      expect(log.workerAt('23:00').state).toBe('blocked');
      expect(log.takeDecisions()).toEqual([]);
      expect(log.stop('23:00', 'w1')).toMatchObject({ decision: 'allow' });
    }),
    differs(
      'each cycle is independent and stateless',
      'except for what the policy counts, because a cap has to count: retries, keep-alives, equal failures (`stuckAfter`) and budgets',
      () => {
        const [often, once] = [registered(), registered()];
        for (let minute = 1; minute < 7; minute += 1) often.stop(minutesAfter('12:00', minute), 'w1');
        const [late, first] = [often.stop('12:07', 'w1'), once.stop('12:07', 'w1')] as [Decision, Decision];
        expect([late, first].map(({ keepAlives }) => keepAlives.count)).toEqual([7, 1]);
        const bare = { seq: 0, attempt: '', keepAlives: null };
        expect({ ...late, ...bare }).toEqual({ ...first, ...bare });
        const retried = createVirtualLog({ default: { checks: [{ plan: {} }] } });
        retried.publish('12:00', 'worker.w1.plan.updated', planOf('pending'));
        expect([1, 2].map(() => retried.stop('12:01', 'w1')?.retry.count)).toEqual([1, 2]);
        const stuck = createVirtualLog({ default: { checks: [{ plan: {} }], stuckAfter: 2 } });
        stuck.publish('12:00', 'worker.w1.plan.updated', planOf('pending'));
        expect([1, 2].map(() => stuck.stop('12:01', 'w1')?.cause)).toEqual(['incomplete', 'stuck']);
      },
    ),
  ),
  part(
    'Key Insights: 2. Idle Time Is Not Total Time',
    holds('a worker can run for hours while tasks keep arriving', () => {
      const log = registered();
      for (let hour = 0; hour < 9; hour += 1) {
        const at = minutesAfter('12:05', hour * 60);
        log.publish(at, 'worker.w1.task.claimed', { task: `T-${hour}` });
        log.publish(minutesAfter(at, 55), 'worker.w1.task.completed', { task: `T-${hour}` });
      }
      expect(log.stop('21:00', 'w1')).toMatchObject({ decision: 'block', cause: 'idle', idle: { ms: 0 } });
    }),
    holds('only idle periods count toward the timeout', () => {
      const log = registered();
      log.publish('12:06', 'worker.w1.task.claimed', { task: 'T-1' });
      log.publish('12:07', 'worker.w1.task.completed', { task: 'T-1' });
      expect(log.stop('12:13', 'w1'), '12 minutes in all, 6 of them since the task').toMatchObject({
        decision: 'block',
        idle: { ms: 6 * minuteMs },
      });
    }),
  ),
  part(
    'Key Insights: 3. Polling Worker Pattern',
    holds('workers look for work, stay alive while needed, and stop when truly idle', async ({ service }) => {
      const [queue, task] = [service.newId('queue'), service.newId('T')];
      const worker = await service.worker({ persistence: { idle: '300ms', queue } });
      await service.wire.publish(`task.${task}.task.created`, { queue });
      expect(await worker.stop()).toMatchObject({ decision: 'block', cause: 'pending-tasks' });
      await worker.publish('task.claimed', { task });
      await worker.publish('task.completed', { task });
      const polled: Decision[] = [];
      const poll = async () => {
        await worker.publish('heartbeat.sent');
        polled.push(await worker.stop());
        return polled.at(-1)?.decision;
      };
      await expect.poll(poll).toBe('allow');
      for (const { idle, cause } of polled) expect(cause).toBe(idle.ms < 300 ? 'idle' : 'idle-timeout');
      expect((await worker.view()).state).toBe('stopped');
    }),
    holds('it regulates itself by the workload', () => {
      const log = createVirtualLog(persistent);
      for (const worker of ['w1', 'w2']) log.publish('12:00', `worker.${worker}.worker.registered`);
      log.publish('12:09', 'task.T-1.task.created');
      log.publish('12:09', 'worker.w1.task.claimed', { task: 'T-1' });
      expect(log.stop('12:10', 'w2')).toMatchObject({ decision: 'allow', cause: 'idle-timeout' });
      expect(log.viewAt('12:10').workers).toMatchObject({ w1: { state: 'working' }, w2: { state: 'stopped' } });
    }),
  ),
  part(
    'Key Insights: 4. Two-Tier Persistence',
    differs(
      'the main loop keeps checking the queue; the stop hook prevents a premature end',
      'the main loop is `stopgate loop --queue Q -- AGENT`, because a hook cannot begin a turn: it claims, runs the agent, asks, and waits for the next task',
      async ({ service, folder }) => {
        const queue = service.newId('queue');
        const { id } = await service.worker({ persistence: { idle: '2s', queue } }, { queue });
        const create = (task: string, title: string) =>
          service.wire.publish(`task.${task}.task.created`, { queue, title });
        const [first, second] = [service.newId('T'), service.newId('T')];
        await create(first, 'Fix login');
        const loop = runLoop(service, folder, id, queue);
        await expect.poll(() => outcomeOf(service, first)).toBe('completed');
        await create(second, 'Write docs');
        const { code, stdout, stderr } = await loop;
        expect(stdout).toBe(`${first}\n${second}\n`);
        expect(stderr).toMatch(/without a task: allow · complete · idle-timeout/);
        expect(code).toBe(0);
        expect(await outcomeOf(service, second)).toBe('completed');
      },
    ),
    holds('both must work together: with the hook alone, a task waits', () => {
      const log = registered();
      log.publish('12:01', 'task.T-1.task.created');
      for (const at of ['12:02', '12:20']) expect(log.stop(at, 'w1')).toMatchObject({ cause: 'pending-tasks' });
      expect(log.viewAt('12:20').tasks['T-1']).toMatchObject({ state: 'idle', worker: null });
    }),
  ),
  part(
    'Key Insights: 5. Graceful Degradation',
    holds(
      'no tasks, and the timeout: the worker stops',
      inCase('pending', 'without a task, a stop after the idle limit is allowed'),
    ),
    holds('tasks present: the worker continues', inCase('pending', 'a waiting task blocks')),
    holds('rate limited: the worker pauses', inCase('limits', 'a limited session pauses')),
    differs(
      'new tasks arrive: new workers can launch',
      'stopgate launches no agent, because it does not know where one could run: a launcher sees in `queues` which tasks wait, and starts `stopgate loop --queue`, which is a new worker',
      async ({ service, folder }) => {
        const queue = service.newId('queue');
        const old = await service.worker({ persistence: { idle: '1ms', queue } }, { queue });
        await expect.poll(async () => (await old.stop()).cause).toBe('idle-timeout');
        const task = service.newId('T');
        await service.wire.publish(`task.${task}.task.created`, { queue });
        const { body } = await service.wire.ask('list.queues', { queue });
        expect(body).toMatchObject({ items: [{ queue, pending: 1 }] });
        expect((await service.wire.ask(`get.task.${task}`)).body).toMatchObject({ state: 'idle', worker: null });
        const launched = service.newId('w');
        expect(await runLoop(service, folder, launched, queue)).toMatchObject({ code: 0, stdout: `${task}\n` });
        expect((await service.wire.ask(`get.task.${task}`)).body).toMatchObject({ judged: { worker: launched } });
        expect(await old.view()).toMatchObject({ state: 'stopped' });
      },
    ),
  ),
];

const summary = part(
  'Summary',
  holds('an attempt to stop is intercepted, evaluated, and blocked or allowed', () => {
    const log = registered();
    expect([log.stop('12:09', 'w1'), log.stop('12:10', 'w1')].map((decision) => decision?.decision)).toEqual([
      'block',
      'allow',
    ]);
  }),
  holds('the ten minutes are idle time only; a worker that keeps getting tasks runs indefinitely', () => {
    const log = registered();
    log.publish('12:09', 'worker.w1.task.claimed', { task: 'T-1' });
    expect(log.workerAt('23:00').idle).toMatchObject({ ms: 0, limitMs: 10 * minuteMs });
    log.publish('23:00', 'worker.w1.task.completed', { task: 'T-1' });
    expect(log.stop('23:09', 'w1')).toMatchObject({ decision: 'block' });
    expect(log.stop('23:10', 'w1')).toMatchObject({ decision: 'allow' });
  }),
  differs(
    'a stop hook makes a worker persistent',
    'only if its policy says so: persistence is off by default, since most agents have one task',
    inCase('pending', 'with persistence off, waiting tasks are shown but do not block'),
  ),
);

export const insights = [limits, ...cycles, summary];
