/**
 * Random entries of every worker's and task's type, as large as they may be: what one costs is counted, never timed,
 * and what a decision holds has its bound.
 */
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { createReplay, decisionBytesMax } from '../../../machines/index.ts';
import type { Work } from '../../../machines/policy/work.ts';

const created = vi.hoisted((): { work: Work; from: number }[] => []);

vi.mock('../../../machines/policy/work.ts', async (original) => {
  const real = await original<typeof import('../../../machines/policy/work.ts')>();
  const createWork = (left = real.workMax) => {
    const work = real.createWork(left);
    created.push({ work, from: left });
    return work;
  };
  return { ...real, createWork };
});

const text = (max: number) =>
  fc
    .integer({ min: 1, max })
    .chain((length) => fc.constantFrom('a', 'é', '😀', '`', '\u0007').map((it) => it.repeat(length)));
const glob = fc
  .array(fc.constantFrom('*a', '**/', '*', '?', 'a', 'src/'), { minLength: 1, maxLength: 60 })
  .map((it) => it.join(''));
const files = fc.array(text(1_000), { maxLength: 60 });
const hook = fc.record({
  type: fc.constantFrom('promise', 'validation', 'default', 'tdd'),
  when: fc.record({ filesMatch: glob }),
  onError: fc.constantFrom('skip', 'escalate'),
});
const validation = fc.array(fc.record({ rule: text(60), passed: fc.boolean() }), { maxLength: 256 });
const entry = fc.oneof(
  fc.record({ files }).map((it) => ['worker.w.tool.used', { tool: 'Edit', ...it }] as const),
  text(60_000).map((id) => ['worker.w.background.started', { id }] as const),
  text(60_000).map((id) => ['worker.w.background.finished', { id }] as const),
  fc.constant(['worker.w.task.claimed', { task: 'T' }] as const),
  fc.constant(['worker.w.prompt.submitted', {}] as const),
  hook.map((it) => ['task.T.hook.registered', it] as const),
  fc
    .array(hook, { minLength: 1, maxLength: 200 })
    .map((of) => ['task.T.hook.registered', { type: 'any', of }] as const),
  fc.constant(['task.T.iteration.started', { iteration: 1, maxIterations: 3 }] as const),
  fc
    .record({ validation, files, output: text(20_000) })
    .map((it) => ['task.T.iteration.validated', { iteration: 1, ...it }] as const),
  fc.record({ validation, files, output: text(20_000) }).map((it) => ['worker.w.stop.attempted', it] as const),
);

test('no entry costs more than two evaluations may, and every decision fits into one message', () => {
  fc.assert(
    fc.property(fc.array(entry, { minLength: 20, maxLength: 60 }), (entries) => {
      const replay = createReplay();
      for (const [tail, data] of entries) {
        created.length = 0;
        replay.fold(JSON.stringify({ at: '2026-03-02T12:00:00.000Z', subject: `stopgate.main.${tail}`, data }));
        const steps = created.reduce((sum, { work, from }) => sum + from - work.left, 0);
        // Checks and hooks are evaluated once each; the step that ends it may be as long as a glob.
        expect(steps).toBeLessThanOrEqual(2 * (1_000_000 + 257));
        for (const line of replay.take()) {
          expect(Buffer.byteLength(JSON.stringify(line))).toBeLessThanOrEqual(decisionBytesMax);
        }
      }
    }),
    { numRuns: 15 },
  );
});
