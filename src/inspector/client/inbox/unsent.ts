/**
 * Answers that can still be undone. An answer is sent after ten seconds, earlier if the agent stops waiting before, or
 * when the page is left. The answered item is hidden from the inbox until the effect is shown.
 */
import { computed, effect, signal } from '@preact/signals';
import type { GrantedAmounts } from '../../../../machines/values/usage.ts';
import { head, hello, serviceMs } from '../data/connection.ts';
import {
  type ActionDetails,
  type ActionRequest,
  actionTexts,
  isUnauthorized,
  operatorName,
  performAction,
  rememberName,
} from '../operator/operator-actions.ts';
import {
  describeUnsent,
  storedSeq,
  type TasksVerdict,
  targetKey,
  trackActions,
  untrackAction,
} from '../operator/settle.ts';
import { requestSignIn } from '../operator/sign-in.tsx';
import { navigate, selection } from '../route.ts';

/**
 * `prompt` is the text for the agent: its next prompt, the chosen answer, or the reason for a denial. `question` is the
 * text of the escalation when it was answered. `grant`: the chosen amount of a used-up budget, if not as configured.
 */
type Answer = {
  readonly request: ActionRequest;
  readonly prompt: string;
  readonly also?: TasksVerdict | undefined;
  readonly question?: string;
  readonly grant?: GrantedAmounts | null;
};
type Unsent = Answer & {
  /** When it is sent, by the browser's clock. */
  readonly sendsAtMs: number;
  readonly isSent: boolean;
};

const undoMs = 10_000;
/** Send an answer at least this long before the agent stops waiting. */
const spareMs = 2_000;

const answers = signal<readonly Unsent[]>([]);
const replace = (old: Unsent, ...by: Unsent[]): void => {
  answers.value = answers.peek().flatMap((answer) => (answer === old ? by : [answer]));
};

const answeredTargets = computed(() => answers.value.flatMap(({ request }) => request.targets));
/** Keys of items that were answered without a visible effect so far. */
export const answeredKeys = computed(
  () => new Set(answeredTargets.value.filter(({ asksMore }) => asksMore !== true).map(targetKey)),
);
/** Sequences of requests that were answered without a visible effect so far. */
export const answeredRequests = computed(() => new Set(answeredTargets.value.map(({ seq }) => seq)));
/** Answers that can be undone, latest last. */
export const unsent = computed(() => answers.value.filter(({ isSent }) => !isSent));

/** The last answer that was undone or failed. It refills its text field as long as the question is unchanged. */
let draft: Answer | null = null;
export const draftOf = (key: string, question: string): string =>
  draft?.question === question && draft.request.targets.some((target) => targetKey(target) === key) ? draft.prompt : '';

/**
 * Gives an answer, after signing in if needed.
 * @param around the element with the field for the operator's name, if there is one
 */
export function giveAnswer(around: HTMLElement, answer: Answer): void {
  const name = around.querySelector<HTMLInputElement>('[name=by]');
  if (name !== null && !name.reportValidity()) return;
  const give = () => {
    if (name !== null) rememberName(name.value);
    answerLater(answer);
  };
  if (hello.value?.operator === true) give();
  else requestSignIn(give);
}

function answerLater(answer: Answer): void {
  const { targets } = answer.request;
  draft = null;
  trackActions(targets);
  const waitMs = Math.min(
    undoMs,
    ...targets.map(({ untilMs = Number.POSITIVE_INFINITY }) => untilMs - spareMs - serviceMs()),
  );
  answers.value = [...answers.peek(), { ...answer, sendsAtMs: Date.now() + Math.max(0, waitMs), isSent: false }];
}

/** Undoes the latest answer and opens its item. */
export function undo(): void {
  const last = unsent.peek().at(-1);
  if (last === undefined) return;
  const { targets } = last.request;
  for (const target of targets) untrackAction(targetKey(target));
  replace(last);
  draft = last;
  const [first] = targets;
  if (first !== undefined && first.entity !== 'queue')
    navigate({ view: 'inbox', ...selection(first.entity, first.id) }, 'replace');
}

export const textOfUnsent = ({ request: { action, targets } }: Unsent): string =>
  describeUnsent(
    actionTexts[action].title,
    targets.map(({ id }) => id),
  );

/** Whether the answer to this item is on its way, so that it cannot be undone any more. */
export const isSent = (key: string): boolean =>
  answers.value.some(({ isSent, request }) => isSent && request.targets.some((target) => targetKey(target) === key));

async function send(answer: Unsent): Promise<void> {
  const sent = { ...answer, isSent: true };
  replace(answer, sent);
  const { left, problem } = await performAction(answer.request, operatorName(), detailsOf(answer), answer.also);
  if (left !== null) {
    replace(sent);
    draft = { ...answer, request: left };
    if (isUnauthorized(problem)) requestSignIn(() => answerLater({ ...answer, request: left }));
    return;
  }
  const shownAt = Math.max(...answer.request.targets.map((target) => storedSeq(targetKey(target))));
  const stop = effect(() => {
    if (head.value.seq < shownAt) return;
    replace(sent);
    queueMicrotask(() => stop());
  });
}

const detailsOf = ({ prompt, grant = null }: Answer): ActionDetails => ({ prompt, grant });

/** Sends an answer while the page is being closed. Does not wait for the workers before sending the tasks. */
function sendLeaving(answer: Answer): void {
  const { request, also } = answer;
  void performAction(request, operatorName(), detailsOf(answer));
  const tasks = (also?.tasks ?? []).map(({ id }) => ({ entity: 'task', id }) as const);
  if (also !== undefined && tasks.length > 0)
    void performAction({ action: also.verdict, targets: tasks }, operatorName(), {});
}

export function startAnswers(): void {
  setInterval(() => {
    for (const answer of unsent.peek()) if (answer.sendsAtMs <= Date.now()) void send(answer);
  }, 250);
  addEventListener('pagehide', () => {
    for (const answer of unsent.peek()) sendLeaving(answer);
    answers.value = [];
  });
}
