/** A decision is cut to fit into one message (protocol.md §2). One that already fits is not changed. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Decision, decisionBytesMax } from '../../../../machines/index.ts';
import { fitDecision } from '../../../../machines/worker/fit-decision.ts';
import { takesAll } from '../../../support/random.ts';

const text = (max: number) =>
  fc
    .tuple(fc.nat(max), fc.constantFrom('a', 'é', '€', '😀', '\u0001', '"'))
    .map(([length, it]) => it.repeat(length).slice(0, max));
const verdict = fc.record(
  { detail: text(2_000), input: fc.dictionary(text(20), text(4_000), { maxKeys: 3 }) },
  { requiredKeys: ['detail'] },
);
const feedback = fc.record({ check: text(20), message: text(4_000), details: fc.oneof(text(4_000), fc.jsonValue()) });

const decisionOf = (
  reason: string,
  verdicts: readonly { detail: string; input?: Record<string, unknown> }[],
  found: readonly { check: string; message: string; details: unknown }[],
): Decision => ({
  v: 1,
  fleet: 'main',
  worker: 'w1',
  task: null,
  tasks: [],
  attempt: 'a1',
  seq: 1,
  at: '2026-03-02T12:00:00.000Z',
  decision: 'block',
  action: 'continue',
  cause: 'incomplete',
  reason,
  nextPrompt: reason,
  feedback: found.map((each) => ({ ...each, outcome: 'fail' })),
  state: 'blocked',
  retry: { count: 1, max: null },
  keepAlives: { count: 0, max: null },
  idle: { ms: 0, limitMs: null, remainingMs: null },
  pendingTasks: 0,
  policy: { name: 'default', seq: 0 },
  verdicts: verdicts.map((each) => ({ guard: 'checks', verdict: 'pass', ...each })),
  replica: '',
  tookMs: 0,
  dryRun: false,
});

test('fits into a message, and is unchanged if it already fitted', () => {
  const given = fc.tuple(text(4_000), fc.array(verdict, { maxLength: 40 }), fc.array(feedback, { maxLength: 10 }));
  fc.assert(
    fc.property(given, (parts) => {
      const whole = decisionOf(...parts);
      const fitted = fitDecision(whole);
      expect(Buffer.byteLength(JSON.stringify(fitted))).toBeLessThanOrEqual(decisionBytesMax - 512);
      // Single texts are cut first, whatever the total size.
      expect(fitDecision(fitted)).toEqual(fitted);
    }),
    { numRuns: takesAll ? 60 : 25 },
  );
});
