/** The state of a fleet never exceeds the limits of docs/protocol.md §2, whatever is published. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sizeOfTask, sizeOfWorker } from '../../../../machines/fleet/state-size.ts';
import { advanceClock, createFleet, type Fleet, type FoldOutcome, foldEntry } from '../../../../machines/index.ts';
import { conformanceLogs } from '../../../support/conformance-logs.ts';
import { entryOf } from '../../../support/fold-lines.ts';
import { sample, takesAll } from '../../../support/random.ts';
import { randomLog } from '../../../support/random-log.ts';
import { restoreText, snapshotText } from '../../../support/snapshot-text.ts';

const startMs = Date.parse('2026-03-02T12:00:00.000Z');
const stateSizeMax = 400_000;

function publish(fleet: Fleet, tail: string, data: object = {}): readonly FoldOutcome[] {
  const entry = entryOf(tail, data);
  return foldEntry(fleet, { seq: fleet.seq + 1, atMs: fleet.nowMs || startMs, entry }).outcomes;
}

const refusalIn = (outcomes: readonly FoldOutcome[]) =>
  outcomes.flatMap((outcome) => (outcome.kind === 'refused' ? [`${outcome.type}: ${outcome.reason}`] : []));

const measure = (fleet: Fleet): number =>
  [...fleet.workers.values()].reduce((sum, record) => sum + sizeOfWorker(record), 0) +
  [...fleet.tasks.values()].reduce((sum, record) => sum + sizeOfTask(record), 0);

/** 62 KB, as much as an agent can send. */
const largePlan = { steps: Array.from({ length: 31 }, () => ({ title: 'x'.repeat(1_970), status: 'pending' })) };

/** All entries with which a worker or task can fill the state. */
const attacks: Readonly<Record<string, (fleet: Fleet, id: number) => readonly FoldOutcome[]>> = {
  plans: (fleet, id) => publish(fleet, `worker.w${id}.plan.updated`, largePlan),
  'steps, one by one': (fleet, id) =>
    publish(fleet, 'worker.w1.step.updated', { step: `s${id % 400}`, title: 'x'.repeat(1 + Math.ceil(id / 2)) }).concat(
      publish(fleet, `worker.w${id}.plan.updated`, largePlan),
    ),
  files: (fleet, id) =>
    publish(fleet, `worker.w${id}.tool.used`, {
      tool: 'Edit',
      files: Array.from({ length: 60 }, (_, file) => `${file}/${'x'.repeat(1_000)}`),
    }),
  'background work': (fleet, id) =>
    publish(fleet, `worker.w${id >> 5}.background.started`, { id: `${id}${'x'.repeat(1_000)}` }),
  questions: (fleet, id) =>
    publish(fleet, `worker.w${id >> 3}.input.requested`, { request: `${id}`, detail: 'x'.repeat(4_000) }),
  'ended sessions': (fleet, id) => [
    ...publish(fleet, `worker.w${id}.plan.updated`, largePlan),
    ...(fleet.workers.has(`w${id}`) ? publish(fleet, `worker.w${id}.session.ended`) : []),
  ],
  'decisions with long feedback': (fleet, id) =>
    publish(fleet, `worker.w${id}.stop.attempted`, {
      validation: Array.from({ length: 30 }, (_, rule) => ({
        rule: `r${rule}`,
        passed: false,
        message: 'x'.repeat(1_900),
      })),
    }),
  'attempts that are held': (fleet, id) =>
    publish(fleet, `worker.w${id}.stop.attempted`, { holdMs: 3_600_000, output: 'x'.repeat(60_000) }),
  tasks: (fleet, id) => publish(fleet, `task.T-${id}.task.created`, { title: 'x', plan: largePlan.steps }),
  'tasks, claimed': (fleet, id) => [
    ...publish(fleet, `task.T-${id}.task.created`, { plan: largePlan.steps }),
    ...publish(fleet, `worker.w${id}.task.claimed`, { task: `T-${id}` }),
  ],
  hooks: (fleet, id) =>
    publish(fleet, `task.T-${id >> 3}.hook.registered`, {
      hook: `h${id}`,
      type: 'validation',
      metadata: { rules: ['r1'], note: 'x'.repeat(60_000) },
    }),
  checkpoints: (fleet, id) =>
    publish(fleet, `task.T-${id >> 4}.checkpoint.saved`, { checkpoint: `c${id}`, context: { a: 'x'.repeat(60_000) } }),
  'new plans of held tasks': (fleet, id) => [
    ...publish(fleet, `worker.w${id}.task.claimed`, { task: `T-${id}` }),
    ...publish(fleet, `task.T-${id}.task.created`, { plan: largePlan.steps }),
  ],
  'many small workers': (fleet, id) => publish(fleet, `worker.w${id}.heartbeat.sent`),
  'many small tasks': (fleet, id) => publish(fleet, `worker.w1.task.claimed`, { task: `T-${id}` }),
};

/** Tasks, policies and rules with which the attacks fill as much state as possible. */
const policies = {
  policies: {
    default: {
      checks: [{ rules: Array.from({ length: 30 }, (_, rule) => `r${rule}`) }],
      promises: true,
      persistence: { idle: '10h', hold: '1h' },
    },
  },
};

test.each(Object.entries(attacks))(
  '%s are refused when the fleet is full, and other workers continue',
  (_name, attack) => {
    const fleet = createFleet('main', { stateSizeMax });
    publish(fleet, 'own.fleet.main.policy.set', policies);
    publish(fleet, 'worker.neighbour.worker.registered', { agent: 'claude' });
    let refusals = 0;
    for (let id = 0; id < 6_000 && refusals < 60; id += 1)
      refusals += refusalIn(attack(fleet, id)).filter((reason) => reason.includes('the maximum')).length;
    expect(refusals).toBeGreaterThanOrEqual(60);
    expect(fleet.stateSize).toBe(measure(fleet));
    // Only recognised attempts may exceed the limit, so that normal stops are still judged.
    expect(fleet.stateSize).toBeLessThan(stateSizeMax + 10_000);
    expect(refusalIn(publish(fleet, 'worker.neighbour.heartbeat.sent'))).toEqual([]);
    expect(refusalIn(publish(fleet, 'worker.neighbour.prompt.submitted'))).toEqual([]);
    const [decided] = publish(fleet, 'worker.neighbour.stop.attempted', {
      attempt: 'a1',
      output: 'done',
      holdMs: 0,
      validation: policies.policies.default.checks[0]?.rules.map((rule) => ({ rule, passed: true })),
    });
    expect(decided).toMatchObject({ kind: 'decided', decision: { attempt: 'a1' } });
  },
);

test('a full fleet refuses an unknown worker until others are forgotten', () => {
  const fleet = createFleet('main', { stateSizeMax: 200_000 });
  for (const id of [1, 2, 3, 4]) publish(fleet, `worker.w${id}.plan.updated`, largePlan);
  for (const id of [1, 2, 3]) publish(fleet, `worker.w${id}.session.ended`);
  const refused = refusalIn(publish(fleet, 'worker.w4.plan.updated', largePlan));
  expect(refused).toEqual([expect.stringMatching(/^plan.updated: the fleet keeps 200000 units/)]);
  advanceClock(fleet, fleet.nowMs + 8 * 24 * 3_600_000);
  expect(fleet.stateSize).toBe(measure(fleet));
  expect(refusalIn(publish(fleet, 'worker.w4.plan.updated', largePlan))).toEqual([]);
});

test('a new plan of a held task that a full fleet refuses does not reach its worker either', () => {
  const fleet = createFleet('main', { stateSizeMax: 200_000 });
  publish(fleet, 'task.T-1.task.created', { plan: [{ id: 's1', title: 'small', status: 'pending' }] });
  publish(fleet, 'worker.holder.task.claimed', { task: 'T-1' });
  publish(fleet, 'worker.w1.plan.updated', largePlan);
  publish(fleet, 'worker.w2.plan.updated', largePlan);
  // The fleet is so full that not even a refusal can be recorded.
  let step = 0;
  for (const size of [1_500, 400, 100, 1]) {
    const fill = { title: 'x'.repeat(size) };
    for (let count = 0; count < 60; count += 1)
      publish(fleet, 'worker.w1.step.updated', { ...fill, step: `f${step++}` });
  }
  const plans = () => [
    fleet.workers.get('holder')?.snapshot.context.worker.plan,
    fleet.tasks.get('T-1')?.snapshot.context.plan,
  ];
  const before = structuredClone(plans());
  expect(before[0]).toMatchObject([{ title: 'small' }]);
  const refused = refusalIn(publish(fleet, 'task.T-1.task.created', { plan: largePlan.steps }));
  expect(refused).toEqual([expect.stringMatching(/^task.created: the fleet keeps 200000 units/)]);
  expect(fleet.tasks.get('T-1')?.snapshot.context.refused).toEqual([]);
  expect(plans()).toEqual(before);
  expect(fleet.stateSize).toBe(measure(fleet));
});

test('the size is exact over random logs and every conformance case', () => {
  const check = (log: Parameters<typeof foldEntry>[1][]) => {
    const fleet = createFleet('main');
    for (const entry of log) foldEntry(fleet, entry);
    expect(fleet.stateSize).toBe(measure(fleet));
    const restored = restoreText(snapshotText(fleet));
    expect(restored.stateSize).toBe(measure(restored));
    expect(restored.stateSize).toBe(fleet.stateSize);
  };
  fc.assert(
    fc.property(randomLog(150), (log) => check([...log])),
    { numRuns: takesAll ? 40 : 20 },
  );
  for (const { log } of sample(conformanceLogs(), 3, 'state size')) check([...log]);
});

/** Fills the fleet until not even a refusal can be recorded. */
function fill(fleet: Fleet): void {
  publish(fleet, 'worker.filler.plan.updated', largePlan);
  let step = 0;
  for (const size of [1_500, 400, 100, 1])
    for (let count = 0; count < 100; count += 1)
      publish(fleet, 'worker.filler.step.updated', { step: `f${step++}`, title: 'x'.repeat(size) });
}

test('a stop that a full fleet refuses leaves the open attempt as it is', () => {
  const fleet = createFleet('main', { stateSizeMax: 200_000 });
  publish(fleet, 'own.fleet.main.policy.set', { policies: { default: { checks: [{ remote: 'scan' }] } } });
  publish(fleet, 'worker.w1.stop.attempted', { attempt: 'a1' });
  fill(fleet);
  const refused = refusalIn(publish(fleet, 'worker.w1.stop.attempted', { attempt: 'a2', output: 'x'.repeat(60_000) }));
  expect(refused).toEqual([expect.stringMatching(/^stop.attempted: the fleet keeps 200000 units/)]);
  expect(fleet.workers.get('w1')?.snapshot).toMatchObject({
    value: { state: 'validating' },
    context: { worker: { attempt: { attempt: 'a1' }, lastDecision: null } },
  });
  expect([...fleet.open]).toEqual(['w1']);
});

/** Fills the fleet, and then makes room for one escalation, but not for many. */
function fillAllBut(fleet: Fleet, steps: number): void {
  fill(fleet);
  for (let step = 0; step < steps; step += 1)
    publish(fleet, 'worker.filler.step.updated', { step: `f${step}`, status: 'deleted' });
}

test('a decision that a full fleet has no room for changes none of its tasks', () => {
  const fleet = createFleet('main', { stateSizeMax: 200_000 });
  publish(fleet, 'own.fleet.main.policy.set', { policies: { default: { promises: true } } });
  for (let id = 0; id < 20; id += 1) publish(fleet, 'worker.w1.task.claimed', { task: `T-${id}` });
  fillAllBut(fleet, 3);
  const stop = { attempt: 'a1', output: '<promise>ESCALATE</promise>' };
  expect(refusalIn(publish(fleet, 'worker.w1.stop.attempted', stop))).toHaveLength(1);
  expect(new Set([...fleet.tasks.values()].map((task) => task.snapshot.value))).toEqual(new Set(['working']));
  expect(fleet.workers.get('w1')?.snapshot.context.worker.tasks).toHaveLength(20);
  publish(fleet, 'worker.filler.plan.updated', { steps: [] });
  expect(publish(fleet, 'worker.w1.stop.attempted', stop)).toContainEqual(expect.objectContaining({ kind: 'decided' }));
  expect(fleet.stateSize).toBe(measure(fleet));
});

test('results of hooks and their checkpoints count, too', () => {
  const fleet = createFleet('main', { stateSizeMax: 200_000 });
  for (let id = 0; id < 12; id += 1) {
    publish(fleet, 'worker.w1.task.claimed', { task: `T-${id}` });
    publish(fleet, `task.T-${id}.iteration.started`, { iteration: 5, maxIterations: 9 });
    for (const hook of ['h1', 'h2']) publish(fleet, `task.T-${id}.hook.registered`, { hook, type: 'checkpoint' });
    publish(fleet, `task.T-${id}.hook.registered`, { hook: 'h3', type: 'promise' });
  }
  fillAllBut(fleet, 18);
  const before = fleet.stateSize;
  const stop = { attempt: 'a1', output: '<promise>COMPLETE</promise>' };
  expect(refusalIn(publish(fleet, 'worker.w1.stop.attempted', stop))).toHaveLength(1);
  expect(fleet.stateSize).toBeLessThan(before + 1_000);
});

test('a failed task with a long reason is refused, and stays held', () => {
  const fleet = createFleet('main', { stateSizeMax: 200_000 });
  publish(fleet, 'worker.w1.task.claimed', { task: 'T-1' });
  fill(fleet);
  const failed = { task: 'T-1', reason: 'x'.repeat(2_000) };
  expect(refusalIn(publish(fleet, 'worker.w1.task.failed', failed))).toHaveLength(1);
  expect(fleet.tasks.get('T-1')?.snapshot).toMatchObject({ value: 'working', context: { worker: 'w1' } });
});

test('a refused entry creates no task', () => {
  const fleet = createFleet('main', { stateSizeMax: 200_000 });
  fill(fleet);
  publish(fleet, 'worker.filler.step.updated', { step: 'f0', status: 'deleted' });
  publish(fleet, 'worker.filler.step.updated', { step: 'f1', status: 'deleted' });
  const refused = refusalIn(publish(fleet, 'task.T-1.task.created', { plan: largePlan.steps }));
  expect(refused).toEqual([expect.stringMatching(/^task.created: the fleet keeps 200000 units/)]);
  expect(fleet.tasks.has('T-1')).toBe(false);
  expect(refusalIn(publish(fleet, 'task.T-2.task.created', { title: 'small' }))).toEqual([]);
});
