/**
 * Answers that can still be taken back: one is sent ten seconds after it was given, or when the page is left. Until its
 * effect is shown, what it answers is not in the inbox.
 */
import { computed, effect, signal } from '@preact/signals';
import { head } from '../data/connection.ts';
import { type ActionRequest, actionTexts, operatorName, performAction } from '../operator/operator-actions.ts';
import { forgetOurs, noteOurs, storedSeq, type TasksVerdict, targetKey } from '../operator/settle.ts';
import { namesOf } from '../operator/suggestions.ts';
import { navigate, selection } from '../route.ts';

type Answer = { readonly request: ActionRequest; readonly prompt: string; readonly also: TasksVerdict | undefined };
type Unsent = Answer & {
  /** By the browser's clock. */
  readonly sendsAtMs: number;
  readonly isSent: boolean;
};

const undoMs = 10_000;

const answers = signal<readonly Unsent[]>([]);
const replace = (old: Unsent, ...by: Unsent[]): void => {
  answers.value = answers.peek().flatMap((it) => (it === old ? by : [it]));
};

/** The keys of all that is answered, and whose answer has no effect yet. */
export const answeredKeys = computed(
  () => new Set(answers.value.flatMap(({ request }) => request.targets.map(targetKey))),
);
/** The answers that can be taken back, the latest last. */
export const unsent = computed(() => answers.value.filter(({ isSent }) => !isSent));

export function answerLater(answer: Answer): void {
  noteOurs(answer.request.targets);
  answers.value = [...answers.peek(), { ...answer, sendsAtMs: Date.now() + undoMs, isSent: false }];
}

/** Takes the latest answer back, and shows what it was for. */
export function undo(): void {
  const last = unsent.peek().at(-1);
  if (last === undefined) return;
  const { targets } = last.request;
  for (const target of targets) forgetOurs(targetKey(target));
  replace(last);
  const [first] = targets;
  if (first !== undefined && first.entity !== 'queue')
    navigate({ view: 'inbox', ...selection(first.entity, first.id) }, 'replace');
}

export const describeUnsent = ({ request: { action, targets } }: Unsent): string =>
  `${actionTexts[action].done}: ${namesOf(targets.map(({ id }) => id))}`;

async function send(it: Unsent): Promise<void> {
  const sent = { ...it, isSent: true };
  replace(it, sent);
  const { left } = await performAction(it.request, operatorName(), it.prompt, it.also);
  if (left !== null) return replace(sent);
  const shownAt = Math.max(...it.request.targets.map((target) => storedSeq(targetKey(target))));
  const stop = effect(() => {
    if (head.value.seq < shownAt) return;
    replace(sent);
    queueMicrotask(() => stop());
  });
}

/** Nothing runs once the page is gone, so the tasks do not wait for their workers. */
function sendLeaving({ request, prompt, also }: Answer): void {
  void performAction(request, operatorName(), prompt);
  const tasks = (also?.tasks ?? []).map(({ id }) => ({ entity: 'task', id }) as const);
  if (also !== undefined && tasks.length > 0)
    void performAction({ action: also.verdict, targets: tasks }, operatorName(), '');
}

export function startAnswers(): void {
  setInterval(() => {
    for (const it of unsent.peek()) if (it.sendsAtMs <= Date.now()) void send(it);
  }, 250);
  addEventListener('pagehide', () => {
    for (const it of unsent.peek()) sendLeaving(it);
    answers.value = [];
  });
}
