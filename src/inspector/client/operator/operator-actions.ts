/** What an operator can do with an actor. Each action is confirmed first, and becomes an entry with the operator's name. */
import { signal } from '@preact/signals';
import { ApiError, post } from '../data/api.ts';
import { hello } from '../data/connection.ts';
import { requestSignIn } from './sign-in.tsx';

export type OperatorAction = 'acknowledge' | 'resume' | 'stop' | 'retire';
export type ActionRequest = {
  readonly action: OperatorAction;
  readonly entity: 'worker' | 'task';
  readonly id: string;
};

export const actionTexts = {
  acknowledge: {
    button: 'Acknowledge',
    title: 'Acknowledge',
    effect: 'You take charge of it. It stays escalated until it is resolved.',
  },
  resume: {
    button: 'Resume…',
    title: 'Resolve: resume',
    effect: 'It may continue. Its agent gets your text as the next prompt.',
  },
  stop: {
    button: 'Stop…',
    title: 'Resolve: stop',
    effect: 'It stops for good: its next attempt to stop is allowed.',
  },
  retire: {
    button: 'Retire…',
    title: 'Retire',
    effect: 'It is done for good: its tasks go back to the queue, and every stop is allowed.',
  },
} as const satisfies Record<OperatorAction, object>;

/** The action to confirm; null: none. */
export const pendingAction = signal<ActionRequest | null>(null);

/** Asks for a token first, if this session is not an operator's. */
export function requestAction(request: ActionRequest): void {
  const confirm = () => {
    pendingAction.value = request;
  };
  if (hello.value?.operator === true) confirm();
  else requestSignIn(confirm);
}

/** @throws ApiError */
export async function performAction({ action, entity, id }: ActionRequest, by: string, prompt: string): Promise<void> {
  if (action === 'acknowledge') await post('operator/acknowledge', { entity, id, by });
  else if (action === 'retire') await post('operator/retire', { id, by });
  else {
    const withPrompt = action === 'resume' && prompt.trim() !== '' ? { prompt } : {};
    await post('operator/resolve', { entity, id, by, verdict: action, ...withPrompt });
  }
}

export const isUnauthorized = (error: unknown): boolean => error instanceof ApiError && error.status === 401;
