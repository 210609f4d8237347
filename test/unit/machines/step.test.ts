/** The tables that steps are taken by say what XState says, on every step of every conformance case. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type AnyStateMachine, type AnyStateNode, transition } from 'xstate';
import {
  createFleet,
  type Fleet,
  foldEntry,
  parseIsoTime,
  readEntry,
  taskMachine,
  workerMachine,
} from '../../../machines/index.ts';
import type { Stepper } from '../../../machines/step.ts';
import { spellTimes, timeOf } from '../../support/case-times.ts';
import { expectEqual } from '../../support/expect-equal.ts';

type CaseEntry = { at?: string; subject?: string; data?: object };
type Case = { name: string; policy?: object; entries: CaseEntry[] };

const folder = new URL('../../conformance/', import.meta.url);
const cases = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .flatMap((file) => (JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as { cases: Case[] }).cases);

test('every step equals the step that XState takes', () => {
  let steps = 0;
  const checked = <M extends AnyStateMachine>(machine: M, stepper: Stepper<M>): Stepper<M> => ({
    ...stepper,
    next(snapshot, event) {
      const taken = stepper.next(snapshot, event);
      const [walked] = transition(machine as AnyStateMachine, machine.resolveState(snapshot), event);
      // Neither chart has an end or tags: all that differs between two snapshots is this.
      expectEqual([taken.value, taken.context, 'active'], [walked.value, walked.context, walked.status]);
      steps += 1;
      return taken;
    },
  });
  for (const { policy, entries } of cases) {
    const bare = createFleet('main');
    const fleet: Fleet = {
      ...bare,
      workerStepper: checked(workerMachine, bare.workerStepper),
      taskStepper: checked(taskMachine, bare.taskStepper),
    };
    const [first] = entries;
    const lines = [
      ...(policy === undefined
        ? []
        : [{ at: first?.at ?? '12:00', subject: 'own.fleet.main.policy.set', data: { policies: policy } }]),
      ...entries,
    ];
    for (const [index, { at, subject, data }] of lines.entries()) {
      const text = JSON.stringify(spellTimes(data ?? {}));
      const entry = readEntry(`stopgate.main.${subject}`, text, text.length);
      if (entry === null || !('data' in entry)) continue;
      const atMs = parseIsoTime(timeOf(at ?? '12:00')) ?? 0;
      foldEntry(fleet, { seq: index + 1, atMs, entry });
    }
  }
  expect(steps).toBeGreaterThan(1_000);
});

test.each([workerMachine, taskMachine])(
  '$id has no timers or invoked actors: time and work arrive as entries',
  (machine) => {
    const nodes = (node: AnyStateNode): AnyStateNode[] => [node, ...Object.values(node.states).flatMap(nodes)];
    for (const node of nodes(machine.root as AnyStateNode)) {
      expect(node.after).toEqual([]);
      expect(node.invoke).toEqual([]);
      expect([...node.entry, ...node.exit]).toEqual([]);
    }
  },
);

test('both machines have the six states, and the worker its presence', () => {
  const six = ['idle', 'working', 'validating', 'blocked', 'escalated', 'stopped'];
  expect(Object.keys(taskMachine.states)).toEqual(six);
  expect(Object.keys(workerMachine.states.state?.states ?? {})).toEqual(six);
  expect(Object.keys(workerMachine.states.presence?.states ?? {})).toEqual(['active', 'stale', 'limited']);
});
