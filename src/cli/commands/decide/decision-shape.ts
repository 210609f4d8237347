/**
 * The fields that printing a decision needs. The whole schema takes longer to load than a decision takes to arrive, so it
 * is used only to explain what is wrong with an answer.
 */
import type { Decision } from '../../../../machines/index.ts';

type Test = (value: unknown) => boolean;

const isText: Test = (value) => typeof value === 'string';
const isNumber: Test = (value) => typeof value === 'number';
const orNull =
  (test: Test): Test =>
  (value) =>
    value === null || test(value);
const oneOf =
  (...values: readonly unknown[]): Test =>
  (value) =>
    values.includes(value);
const listOf =
  (test: Test): Test =>
  (value) =>
    Array.isArray(value) && value.every(test);
const objectOf =
  (fields: Readonly<Record<string, Test>>): Test =>
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries(fields).every(([name, test]) => test((value as Record<string, unknown>)[name]));

const shape = objectOf({
  v: oneOf(1),
  worker: isText,
  task: orNull(isText),
  tasks: listOf(isText),
  attempt: orNull(isText),
  seq: orNull(isNumber),
  decision: oneOf('allow', 'block'),
  action: isText,
  cause: isText,
  reason: isText,
  nextPrompt: orNull(isText),
  feedback: listOf(objectOf({ check: isText, outcome: isText, message: isText })),
  state: isText,
  retry: objectOf({ count: isNumber, max: orNull(isNumber) }),
  idle: objectOf({ ms: isNumber, limitMs: orNull(isNumber), remainingMs: orNull(isNumber) }),
  pendingTasks: isNumber,
  policy: objectOf({ name: isText }),
  verdicts: listOf(objectOf({ guard: isText, verdict: oneOf('pass', 'block', 'allow', 'error'), detail: isText })),
  tookMs: isNumber,
});

export const isDecision = (answer: unknown): answer is Decision => shape(answer);
