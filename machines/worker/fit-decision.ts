/** Makes a decision small enough for one message and for who reads it (docs/protocol.md §2). */
import type { Decision, Verdict } from '../guards/decision.ts';
import { cutDetails, type Feedback } from '../policy/checks/check-result.ts';
import { decisionBytesMax, feedbackLengthMax, nextPromptLengthMax, reasonLengthMax } from '../values/limits.ts';
import { cutMiddle, utf8Length } from '../values/text.ts';

/** The replica that answers fills in its name and the time that it took. */
const bytesMax = decisionBytesMax - 512;

/** Long texts are cut in the middle. Where that is not enough, what is shown beside them goes first, and lists are cut. */
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
  const text = JSON.stringify(decision);
  return 3 * text.length <= bytesMax || utf8Length(text) <= bytesMax;
};

const cutFeedback = (each: Feedback): Feedback => ({
  ...each,
  message: cutMiddle(each.message, feedbackLengthMax),
  details: cutDetails(each.details),
});

const cutDetail = (verdict: Verdict): Verdict => ({ ...verdict, detail: cutMiddle(verdict.detail, reasonLengthMax) });

const shownMax = 32;
const shortLengthMax = 200;

/** In order, until the decision fits. After the last it does: nothing is left that has no bound. */
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
