/**
 * Answers that can still be taken back: one is sent ten seconds after it was given, sooner if the agent waits no longer than
 * that, or when the page is left. Until its effect is shown, what it answers is not in the inbox.
 */
import { computed, effect, signal } from '@preact/signals';
import { head, hello, serviceMs } from '../data/connection.ts';
import {
  type ActionRequest,
  actionTexts,
  isUnauthorized,
  operatorName,
  performAction,
  rememberName,
} from '../operator/operator-actions.ts';
import { forgetOurs, noteOurs, storedSeq, type TasksVerdict, targetKey } from '../operator/settle.ts';
import { requestSignIn } from '../operator/sign-in.tsx';
import { namesOf } from '../operator/suggestions.ts';
import { navigate, selection } from '../route.ts';

/**
 * `prompt`: what the agent gets: its next prompt, the choice for its question, or why it may not. `question`: what an
 * escalation said when it was answered.
 */
type Answer = {
  readonly request: ActionRequest;
  readonly prompt: string;
  readonly also?: TasksVerdict | undefined;
  readonly question?: string;
};
type Unsent = Answer & {
  /** By the browser's clock. */
  readonly sendsAtMs: number;
  readonly isSent: boolean;
};

const undoMs = 10_000;
/** An answer is sent this long before its agent stops waiting, so that it arrives in time. */
const spareMs = 2_000;

const answers = signal<readonly Unsent[]>([]);
const replace = (old: Unsent, ...by: Unsent[]): void => {
  answers.value = answers.peek().flatMap((answer) => (answer === old ? by : [answer]));
};

const answeredTargets = computed(() => answers.value.flatMap(({ request }) => request.targets));
/** The keys of all that is answered, and whose answer has no effect yet. */
export const answeredKeys = computed(
  () => new Set(answeredTargets.value.filter(({ asksMore }) => asksMore !== true).map(targetKey)),
);
/** The entries of the requests of which the same is true. */
export const answeredRequests = computed(() => new Set(answeredTargets.value.map(({ seq }) => seq)));
/** The answers that can be taken back, the latest last. */
export const unsent = computed(() => answers.value.filter(({ isSent }) => !isSent));

/** The last answer that came back, for the field that it was written in, as long as the question is the same. */
let draft: Answer | null = null;
export const draftOf = (key: string, question: string): string =>
  draft?.question === question && draft.request.targets.some((target) => targetKey(target) === key) ? draft.prompt : '';

/** Gives the answer once the session is an operator's. @param around has the field for the operator's name, if it is unknown */
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
  noteOurs(targets);
  const waitMs = Math.min(
    undoMs,
    ...targets.map(({ untilMs = Number.POSITIVE_INFINITY }) => untilMs - spareMs - serviceMs()),
  );
  answers.value = [...answers.peek(), { ...answer, sendsAtMs: Date.now() + Math.max(0, waitMs), isSent: false }];
}

/** Takes the latest answer back, and shows what it was for. */
export function undo(): void {
  const last = unsent.peek().at(-1);
  if (last === undefined) return;
  const { targets } = last.request;
  for (const target of targets) forgetOurs(targetKey(target));
  replace(last);
  draft = last;
  const [first] = targets;
  if (first !== undefined && first.entity !== 'queue')
    navigate({ view: 'inbox', ...selection(first.entity, first.id) }, 'replace');
}

export const describeUnsent = ({ request: { action, targets } }: Unsent): string =>
  `${actionTexts[action].done}: ${namesOf(targets.map(({ id }) => id))}`;

async function send(answer: Unsent): Promise<void> {
  const sent = { ...answer, isSent: true };
  replace(answer, sent);
  const { left, problem } = await performAction(answer.request, operatorName(), { prompt: answer.prompt }, answer.also);
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

/** Nothing runs once the page is gone, so the tasks do not wait for their workers. */
function sendLeaving({ request, prompt, also }: Answer): void {
  void performAction(request, operatorName(), { prompt });
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
