/** A decision entry replaces the fold's own decision if it differs, however its JSON is formatted. */
import { expect, test } from 'vitest';
import { createFleet, type Decision } from '../../../machines/index.ts';
import { foldMessage } from '../../../src/host/fold/fold-message.ts';

const message = (seq: number, subject: string, value: object) => ({
  seq,
  atMs: seq,
  subject: `stopgate.main.${subject}`,
  data: new TextEncoder().encode(JSON.stringify(value)),
  header: () => undefined,
});

function decide() {
  const fleet = createFleet('main');
  const { outcomes } = foldMessage(fleet, message(1, 'worker.w1.stop.attempted', {}));
  const decision = outcomes.flatMap((it) => (it.kind === 'decided' ? [it.decision] : []))[0] as Decision;
  const fold = (stored: object) => foldMessage(fleet, message(2, 'decision.w1', stored)).outcomes;
  const lastCause = () => fleet.workers.get('w1')?.snapshot.context.worker.lastDecision?.cause;
  return { decision, fold, lastCause };
}

const { verdicts, cause, worker, attempt, seq, ...others } = decide().decision;
test.each([
  ['as this release writes it', { cause, worker, attempt, seq, ...others, verdicts }],
  ['its verdicts first', { verdicts, cause, worker, attempt, seq, ...others }],
  ['what compares it behind its verdicts', { worker, attempt, seq, ...others, verdicts, cause }],
  ['what it decides behind its verdicts', { cause, ...others, verdicts, worker, attempt, seq }],
])('a stored decision: %s', (_order, same) => {
  const { fold, lastCause } = decide();
  expect(fold(same)).toEqual([]);
  expect(lastCause()).toBe('no-policy');
  expect(fold({ ...same, cause: 'bypassed' })).not.toEqual([]);
  expect(lastCause()).toBe('bypassed');
});
