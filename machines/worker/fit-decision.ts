/** Shortens a decision so that it is readable and fits into one message (docs/protocol.md §2). */
import type { Decision, Verdict } from '../guards/decision.ts';
import { cutDetails, type Feedback } from '../policy/checks/check-result.ts';
import { decisionBytesMax, feedbackLengthMax, nextPromptLengthMax, reasonLengthMax } from '../values/limits.ts';
import { cutMiddle, jsonLengthMax, unitLengthMax, utf8Length } from '../values/text.ts';

/** Leaves room for `replica` and `tookMs`, which the answering replica fills in. */
const bytesMax = decisionBytesMax - 512;

/** Cuts long texts in the middle. If that is not enough, drops optional fields, then shortens lists. */
export function fitDecision(decision: Decision): Decision {
  const { reason, nextPrompt, feedback, verdicts } = decision;
  const cut = {
    ...decision,
    reason: cutMiddle(reason, reasonLengthMax),
    nextPrompt: nextPrompt === null ? null : cutMiddle(nextPrompt, nextPromptLengthMax),
    feedback: feedback.map(cutFeedback),
    verdicts: verdicts.map(cutDetail),
  };
  return shrinks.reduce((shrunk, shrink) => (fits(shrunk) ? shrunk : shrink(shrunk)), cut);
}

const fits = (decision: Decision): boolean => {
  if (bytesUpperBound(decision) <= bytesMax) return true;
  const text = JSON.stringify(decision);
  return 3 * text.length <= bytesMax || utf8Length(text) <= bytesMax;
};

/** An upper bound of the JSON size in bytes. Adding up the lengths of texts is much faster than writing the JSON. */
function bytesUpperBound({
  fleet,
  worker,
  task,
  tasks,
  attempt,
  policy,
  reason,
  nextPrompt,
  feedback,
  verdicts,
}: Decision): number {
  let units = fleet.length + worker.length + policy.name.length + reason.length;
  units += (task?.length ?? 0) + (attempt?.length ?? 0) + (nextPrompt?.length ?? 0);
  for (const held of tasks) units += held.length + 1;
  let inputs = 0;
  for (const { detail, input } of verdicts) {
    units += detail.length;
    if (input !== undefined) inputs += jsonLengthMax(input);
  }
  return (
    decisionOverhead + unitLengthMax * units + verdictOverhead * verdicts.length + inputs + jsonLengthMax(feedback)
  );
}

/** Keys, numbers and fixed words of a decision and of a verdict, in bytes. */
const decisionOverhead = 1_000;
const verdictOverhead = 120;

const cutFeedback = (item: Feedback): Feedback => ({
  ...item,
  message: cutMiddle(item.message, feedbackLengthMax),
  details: cutDetails(item.details),
});

const cutDetail = (verdict: Verdict): Verdict => {
  const detail = cutMiddle(verdict.detail, reasonLengthMax);
  return detail === verdict.detail ? verdict : { ...verdict, detail };
};

const shownMax = 32;
const shortLengthMax = 200;

/** Applied in order until the decision fits. It always fits after the last, because everything left is bounded. */
const shrinks: readonly ((decision: Decision) => Decision)[] = [
  (decision) => ({ ...decision, feedback: decision.feedback.map((item) => ({ ...item, details: '…' })) }),
  (decision) => ({
    ...decision,
    verdicts: decision.verdicts.map((verdict) =>
      verdict.input === undefined ? verdict : { ...verdict, input: { cut: '…' } },
    ),
  }),
  (decision) => ({
    ...decision,
    feedback: cutList(decision.feedback, { check: '…', outcome: 'fail', message: '…', details: {} }),
    verdicts: cutList(decision.verdicts, { guard: 'policy', verdict: 'error', detail: '…' }),
    tasks: cutList(decision.tasks, '…'),
  }),
  (decision) => ({
    ...decision,
    feedback: decision.feedback.map((item) => ({ ...item, message: cutMiddle(item.message, shortLengthMax) })),
    verdicts: decision.verdicts.map((verdict) => ({ ...verdict, detail: cutMiddle(verdict.detail, shortLengthMax) })),
  }),
];

function cutList<Item>(items: readonly Item[], middle: Item): Item[] {
  if (items.length <= shownMax) return [...items];
  const half = shownMax / 2;
  return [...items.slice(0, half), middle, ...items.slice(-half)];
}
