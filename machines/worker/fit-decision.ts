/** Shortens a decision to fit into one message and to be readable (docs/protocol.md §2). */
import type { Decision, Verdict } from '../guards/decision.ts';
import { cutDetails, type Feedback } from '../policy/checks/check-result.ts';
import { decisionBytesMax, feedbackLengthMax, nextPromptLengthMax, reasonLengthMax } from '../values/limits.ts';
import { cutMiddle, jsonLengthMax, unitLengthMax, utf8Length } from '../values/text.ts';

/** The replica that answers fills in its name and the time that it took. */
const bytesMax = decisionBytesMax - 512;

/** Long texts are cut in the middle. If that is not enough, extra fields are dropped first, and then lists are cut. */
export function fitDecision(decision: Decision): Decision {
  const { reason, nextPrompt, feedback, verdicts } = decision;
  const cut = {
    ...decision,
    reason: cutMiddle(reason, reasonLengthMax),
    nextPrompt: nextPrompt === null ? null : cutMiddle(nextPrompt, nextPromptLengthMax),
    feedback: feedback.map(cutFeedback),
    verdicts: verdicts.map(cutDetail),
  };
  return shrinks.reduce((it, shrink) => (fits(it) ? it : shrink(it)), cut);
}

const fits = (decision: Decision): boolean => {
  if (lengthMax(decision) <= bytesMax) return true;
  const text = JSON.stringify(decision);
  return 3 * text.length <= bytesMax || utf8Length(text) <= bytesMax;
};

/** An upper bound of its bytes as JSON: adding up the lengths of its texts is much faster than making the JSON. */
function lengthMax({
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
  return besideTexts + unitLengthMax * units + besideDetail * verdicts.length + inputs + jsonLengthMax(feedback);
}

/** Keys, numbers and fixed texts, in bytes: of a decision, and of a verdict. */
const besideTexts = 1_000;
const besideDetail = 120;

const cutFeedback = (each: Feedback): Feedback => ({
  ...each,
  message: cutMiddle(each.message, feedbackLengthMax),
  details: cutDetails(each.details),
});

const cutDetail = (verdict: Verdict): Verdict => {
  const detail = cutMiddle(verdict.detail, reasonLengthMax);
  return detail === verdict.detail ? verdict : { ...verdict, detail };
};

const shownMax = 32;
const shortLengthMax = 200;

/** Applied in order until the decision fits. After the last one it does, because everything left has a bound. */
const shrinks: readonly ((decision: Decision) => Decision)[] = [
  (it) => ({ ...it, feedback: it.feedback.map((each) => ({ ...each, details: '…' })) }),
  (it) => ({
    ...it,
    verdicts: it.verdicts.map((each) => (each.input === undefined ? each : { ...each, input: { cut: '…' } })),
  }),
  (it) => ({
    ...it,
    feedback: cutList(it.feedback, { check: '…', outcome: 'fail', message: '…', details: {} }),
    verdicts: cutList(it.verdicts, { guard: 'policy', verdict: 'error', detail: '…' }),
    tasks: cutList(it.tasks, '…'),
  }),
  (it) => ({
    ...it,
    feedback: it.feedback.map((each) => ({ ...each, message: cutMiddle(each.message, shortLengthMax) })),
    verdicts: it.verdicts.map((each) => ({ ...each, detail: cutMiddle(each.detail, shortLengthMax) })),
  }),
];

function cutList<Item>(items: readonly Item[], middle: Item): Item[] {
  if (items.length <= shownMax) return [...items];
  const half = shownMax / 2;
  return [...items.slice(0, half), middle, ...items.slice(-half)];
}
