/**
 * Random entries of every type, as large as they may be, into fleets that hostile entries have filled before: what one
 * costs is counted, never timed, and everything that is kept or shown has its bound. `npm run bench -- bounds`
 * measures.
 */
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import type { AnyStateMachine } from 'xstate';
import {
  createFleet,
  type Decision,
  decisionBytesMax,
  type Fleet,
  foldEntry,
  type HookResult,
  readEntry,
} from '../../../machines/index.ts';
import type { Work } from '../../../machines/policy/glob.ts';
import type { Stepper } from '../../../machines/step.ts';
import { takesAll } from '../../support/random.ts';
import { type Line, line, worlds } from './hostile-entries.ts';

const counted = vi.hoisted(() => ({ works: [] as { work: Work; from: number }[], steps: 0 }));

vi.mock('../../../machines/policy/work.ts', async (original) => {
  const real = await original<typeof import('../../../machines/policy/glob.ts')>();
  const createWork = (left = real.workMax) => {
    const work = real.createWork(left);
    counted.works.push({ work, from: left });
    return work;
  };
  return { ...real, createWork };
});

const seqOf = { next: 0 };
function fold(fleet: Fleet, [tail, data]: Line) {
  const json = JSON.stringify(data);
  const entry = readEntry(`stopgate.main.${tail}`, json, Buffer.byteLength(json));
  seqOf.next += 1;
  if (entry === null || !('data' in entry)) return [];
  return foldEntry(fleet, { seq: seqOf.next, atMs: seqOf.next, entry }).outcomes;
}

function createCountedFleet(): Fleet {
  const bare = createFleet('main');
  const count = <M extends AnyStateMachine>(stepper: Stepper<M>): Stepper<M> => ({
    ...stepper,
    next(snapshot, event) {
      counted.steps += 1;
      return stepper.next(snapshot, event);
    },
  });
  return { ...bare, workerStepper: count(bare.workerStepper), taskStepper: count(bare.taskStepper) };
}

/** About what the states take in memory: objects and lists by their slots, texts by their characters, each once. */
function sizeOf(fleet: Fleet): number {
  const seen = new Set<unknown>();
  let bytes = 0;
  const visit = (value: unknown): void => {
    if (typeof value === 'string') {
      if (seen.has(value)) return;
      seen.add(value);
      bytes += 24 + Buffer.byteLength(value);
    } else if (typeof value === 'object' && value !== null && !seen.has(value)) {
      seen.add(value);
      const members =
        value instanceof Map ? [...value].flat() : value instanceof Set ? [...value] : Object.values(value);
      bytes += 24 + 8 * members.length;
      for (const member of members) visit(member);
    }
  };
  for (const { snapshot } of fleet.workers.values()) visit(snapshot.context);
  for (const { snapshot } of fleet.tasks.values()) visit(snapshot.context);
  visit(fleet.policies);
  visit(fleet.dependents);
  return bytes;
}

/**
 * A stop goes over a worker's tasks, 1,000 at most, up to three times: with an attempt that was open, its end and its
 * own.
 */
const stepsMax = 3 * 1_000 + 100;
const heapMax = 262_144 + 1_024;

test.each(worlds.map((world, index) => ({ world, index })))(
  'no entry costs more than it may after log $index, and every answer fits into one message',
  ({ world }) => {
    fc.assert(
      fc.property(fc.array(line, { minLength: 20, maxLength: 40 }), (lines) => {
        const fleet = createCountedFleet();
        for (const each of world) fold(fleet, each);
        let size = sizeOf(fleet);
        for (const each of lines) {
          counted.works.length = 0;
          counted.steps = 0;
          const outcomes = fold(fleet, each);
          // Checks and hooks are evaluated once each; the step that ends it may be as long as a glob.
          const work = counted.works.reduce((sum, { work: { left }, from }) => sum + from - left, 0);
          expect(work, each[0]).toBeLessThanOrEqual(2 * (200_000 + 1_000));
          expect(counted.steps, each[0]).toBeLessThanOrEqual(stepsMax);
          const after = sizeOf(fleet);
          expect(after - size, each[0]).toBeLessThanOrEqual(heapMax);
          size = after;
          for (const outcome of outcomes) expectToFit(outcome);
        }
      }),
      { numRuns: takesAll ? 10 : 1 },
    );
  },
);

function expectToFit(outcome: {
  readonly kind: string;
  readonly decision?: Decision;
  readonly result?: HookResult;
}): void {
  const shown = outcome.decision ?? outcome.result;
  if (shown === undefined) return;
  expect(Buffer.byteLength(JSON.stringify(shown))).toBeLessThanOrEqual(decisionBytesMax);
  expect([...shown.reason].length).toBeLessThanOrEqual(500);
  expect([...(shown.nextPrompt ?? '')].length).toBeLessThanOrEqual(4_000);
}
