/** What an operator can do with actors. Each action becomes an entry per actor, with the operator's name. */
import { signal } from '@preact/signals';
import { ApiError, post } from '../data/api.ts';
import { hello } from '../data/connection.ts';
import { forgetOurs, noteOurs, noteStored, targetKey } from './ours.ts';
import { settle, type TasksVerdict } from './settle.ts';
import { requestSignIn } from './sign-in.tsx';

export type OperatorAction = 'acknowledge' | 'resume' | 'stop' | 'retire' | 'allow' | 'deny';
/** `request`: what is answered, by `allow` and `deny`; `seq`: of the entry that asked it, as it is shown. */
export type Target = {
  readonly entity: 'worker' | 'task';
  readonly id: string;
  readonly request?: string;
  readonly seq?: number;
};
export type ActionRequest = {
  readonly action: OperatorAction;
  /** At least one. */
  readonly targets: readonly Target[];
  /** Prompts to choose from, for `resume`; absent: those for the worker that is shown. */
  readonly suggestions?: readonly string[];
  /** What the agent gets with `allow`: the choice for a question. */
  readonly choice?: string;
};
export const actionTexts = {
  acknowledge: {
    button: 'Acknowledge',
    title: 'Acknowledge',
    effect: 'You take charge of it. It stays escalated until it is resolved.',
  },
  resume: {
    button: 'Resume…',
    title: 'Resume',
    effect: 'It may continue. Its agent gets your text as the next prompt.',
  },
  stop: {
    button: 'Stop…',
    title: 'Stop',
    effect: 'It stops for good: its next attempt to stop is allowed.',
  },
  retire: {
    button: 'Retire…',
    title: 'Retire',
    effect: 'It is done for good: its tasks go back to the queue, and every stop is allowed.',
  },
  allow: {
    button: 'Allow',
    title: 'Allow',
    effect: 'The agent may do what it asks for, this once.',
  },
  deny: {
    button: 'Deny…',
    title: 'Deny',
    effect: 'The agent may not do it. It gets your text as the reason.',
  },
} as const satisfies Record<OperatorAction, object>;

/** A task has no agent. */
export const taskEffects: Readonly<Partial<Record<OperatorAction, string>>> = {
  resume: 'It goes back to its queue, where a worker may claim it.',
  stop: 'It is cancelled.',
};

const nameKey = 'stopgate.by';
export const operatorName = (): string => localStorage.getItem(nameKey) ?? '';
export const rememberName = (name: string): void => localStorage.setItem(nameKey, name.trim());

/** The action to confirm; null: none. */
export const pendingAction = signal<ActionRequest | null>(null);
/** What was done last, or why it failed, for all to see. */
export const actionNews = signal<{ readonly text: string; readonly isProblem: boolean } | null>(null);

/** Asks for a token first, if this session is not an operator's. What has no text needs no question from a known name. */
export function requestAction(request: ActionRequest): void {
  if (request.targets.length === 0) return;
  const confirm = () => {
    if ((request.action === 'acknowledge' || request.action === 'allow') && operatorName() !== '')
      void performAction(request, operatorName(), request.choice ?? '').catch(() => {});
    else pendingAction.value = request;
  };
  if (hello.value?.operator === true) confirm();
  else requestSignIn(confirm);
}

/** @throws ApiError of the first that failed; the others are done */
export async function performAction(
  { action, targets }: ActionRequest,
  by: string,
  prompt: string,
  also?: TasksVerdict,
): Promise<void> {
  // Before the answers: the stream may be quicker.
  noteOurs(targets);
  const runTarget = async (target: Target) => {
    const key = targetKey(target);
    try {
      noteStored(key, (await perform(action, target, by, prompt)).seq);
    } catch (error) {
      forgetOurs(key);
      throw error;
    }
  };
  const { text, problem } = await settle(
    { targets, run: runTarget, done: doneWords[action], title: actionTexts[action].title },
    also && { ...also, run: ({ id }) => perform(also.verdict, { entity: 'task', id }, by, '') },
  );
  actionNews.value = { text, isProblem: problem !== null };
  if (problem !== null) throw problem;
}

const doneWords = {
  acknowledge: 'Acknowledged',
  resume: 'Resumed',
  stop: 'Stopped',
  retire: 'Retired',
  allow: 'Allowed',
  deny: 'Denied',
} as const;

/** @returns the entry that it became */
function perform(
  action: OperatorAction,
  { entity, id, request, seq }: Target,
  by: string,
  prompt: string,
): Promise<{ readonly seq: number }> {
  if (action === 'acknowledge') return post('operator/acknowledge', { entity, id, by });
  if (action === 'retire') return post('operator/retire', { id, by });
  if (action === 'allow' || action === 'deny') {
    const message = prompt.trim() === '' ? {} : { message: prompt };
    return post('operator/answer', { id, by, verdict: action, request, seq, ...message });
  }
  const withPrompt = action === 'resume' && prompt.trim() !== '' ? { prompt } : {};
  return post('operator/resolve', { entity, id, by, verdict: action, ...withPrompt });
}

export const isUnauthorized = (error: unknown): boolean => error instanceof ApiError && error.status === 401;
