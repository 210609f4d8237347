/** The fast encoding of decisions equals JSON.stringify, whatever agents and policies put into them. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { attemptSchema, createFleet, type Decision, foldEntry, guardNames } from '../../../machines/index.ts';
import { encodeDecision, encodeNew } from '../../../src/host/fold/decision-bytes.ts';
import { entryOf } from '../../support/fold-lines.ts';
import { takesAll } from '../../support/random.ts';

const decoder = new TextDecoder();
const made = (decision: Decision) => decoder.decode(encodeNew(decision));

/** Includes lone surrogates, control characters, quotes and backslashes. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('"', '\\', '\ud800', '\n', 'é', 'a') }),
);
const id = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,20}$/);
const count = fc.integer({ min: -1, max: 2 ** 42 });
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null });
const verdict = fc.record(
  {
    guard: fc.constantFrom(...guardNames, 'policy'),
    verdict: fc.constantFrom('pass', 'block', 'allow', 'error'),
    detail: text,
    input: fc.dictionary(text, fc.oneof(text, count)),
    tookMs: count,
  },
  { requiredKeys: ['guard', 'verdict', 'detail'] },
);
const feedback = fc.record({
  check: text,
  outcome: fc.constantFrom('fail', 'error'),
  message: text,
  details: fc.anything(),
});
const decision = fc.record({
  v: fc.constant(1),
  fleet: id,
  worker: id,
  task: maybe(id),
  tasks: fc.array(id),
  attempt: maybe(id),
  seq: maybe(count),
  at: fc.constant('2026-01-02T03:04:05.678Z'),
  decision: fc.constantFrom('allow', 'block'),
  action: fc.constant('continue'),
  cause: fc.constant('capped'),
  reason: text,
  nextPrompt: maybe(text),
  feedback: fc.array(feedback),
  state: fc.constant('working'),
  retry: fc.record({ count, max: maybe(count) }),
  keepAlives: fc.record({ count, max: maybe(count) }),
  idle: fc.record({ ms: count, limitMs: maybe(count), remainingMs: maybe(count) }),
  pendingTasks: count,
  policy: fc.record({ name: id, seq: count }),
  verdicts: fc.array(verdict),
  replica: id,
  tookMs: fc.double({ noNaN: true, noDefaultInfinity: true }),
  dryRun: fc.boolean(),
}) as unknown as fc.Arbitrary<Decision>;

test('of any content', () => {
  fc.assert(
    fc.property(decision, (it) => {
      const plain = { ...it };
      expect(made(it)).toBe(decoder.decode(Buffer.from(JSON.stringify(plain))));
      // From then on it is the text of that decision.
      expect(encodeDecision(it)).toEqual(encodeDecision(plain));
    }),
    { numRuns: takesAll ? 200 : 40 },
  );
});

test('as the fold makes it: field by field, in its order', () => {
  const fleet = createFleet('main', {});
  let seq = 0;
  const fold = (tail: string, data: object) => {
    const entry = entryOf(tail, data);
    seq += 1;
    return foldEntry(fleet, { seq, atMs: 1_700_000_000_000 + seq, entry, owner: 'r1' }).outcomes;
  };
  const decided = (data: object) => {
    const outcome = fold('worker.w1.stop.attempted', attemptSchema.parse(data)).find((it) => it.kind === 'decided');
    if (outcome?.kind !== 'decided') throw new Error('not decided');
    return { ...outcome.decision, replica: 'r1', tookMs: 1.25 };
  };
  fold('own.fleet.main.policy.set', { policies: { default: { checks: [{ plan: {} }] } } });
  const decisions = [decided({}), decided({ attempt: 'a1', output: '"done"' })];
  fold('worker.w1.plan.updated', { steps: [{ title: 'Write "tests"\n', status: 'pending' }] });
  decisions.push(decided({ attempt: 'a2' }), decided({ output: '<promise>BLOCKED</promise>' }));
  expect(new Set(decisions.map((it) => it.decision)).size).toBe(2);
  for (const it of decisions) expect(made(it)).toBe(JSON.stringify(it));
});
