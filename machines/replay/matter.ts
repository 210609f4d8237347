/**
 * Tells which workers or tasks need the same answer from a person: those with equal questions and equal failures.
 * Comparing the sentences of lists would not be enough, because they are cut.
 */
import type { Decision } from '../guards/decision.ts';
import type { Feedback } from '../policy/checks/check-result.ts';
import { digestOf } from '../values/digest.ts';
import type { Escalation, TaskEscalation } from '../values/escalation.ts';
import type { InputRequest } from '../values/questions.ts';
import { failedTests, failingLine } from './failing-line.ts';

type AskingWorker = {
  readonly escalation: Escalation | null;
  readonly inputs: readonly InputRequest[];
  readonly lastDecision: Decision | null;
};

/** @returns a digest of the whole question and of the failures, or null if the worker does not wait for a person */
export function matterOfWorker({ escalation, inputs, lastDecision }: AskingWorker): number | null {
  if (escalation === null && inputs.length === 0) return null;
  const isOfAttempt = escalation?.attempt != null && escalation.attempt === lastDecision?.attempt;
  return digestOf([
    JSON.stringify([
      escalation === null ? null : [escalation.cause, escalation.reason],
      isOfAttempt ? lastDecision.feedback.map(failureOf) : [],
      inputs.map(({ kind, tool, message, detail }) => [kind, tool, message, detail]),
    ]),
  ]);
}

/**
 * Reasons in an agent's own words are compared alone. Other reasons are generic, so they are only equal for the same
 * attempt of the same worker.
 */
export function matterOfTask(escalation: TaskEscalation | null): number | null {
  if (escalation === null) return null;
  const { cause, reason, attempt, worker } = escalation;
  const isInOwnWords = cause === 'escalated' || cause === 'failed';
  return digestOf([JSON.stringify([cause, reason, isInOwnWords ? [] : [worker, attempt]])]);
}

/** Returns the failed tests or the failing line instead of the output, in which two runs differ by their timings. */
function failureOf({ check, outcome, message, details }: Feedback): readonly unknown[] {
  if (typeof details !== 'string') return [check, outcome, message, JSON.stringify(details)];
  const tests = failedTests(`${details}\n${message}`);
  return [check, outcome, message, tests.length > 0 ? tests : failingLine(details)];
}
