/** An operator's actions on actors. Each action becomes one entry per actor, with the operator's name. */
import { signal } from '@preact/signals';
import type { GrantedAmounts } from '../../../../machines/values/usage.ts';
import { ApiError, post } from '../data/api.ts';
import { hello } from '../data/connection.ts';
import type { TaskOfWorker } from '../inbox/find-waiting.ts';
import {
  noteStored,
  type OperatorAction,
  settle,
  type TasksVerdict,
  targetKey,
  trackActions,
  untrackAction,
} from './settle.ts';
import { requestSignIn } from './sign-in.tsx';

export type { OperatorAction };
/**
 * The target of an action. A queue can only be acknowledged. `allow` and `deny` answer the agent's `request` of entry
 * `seq`, which the agent holds until `untilMs` by the service's clock. `asksMore`: the agent also asks something else.
 */
export type Target = {
  readonly entity: 'worker' | 'task' | 'queue';
  readonly id: string;
  readonly request?: string;
  readonly seq?: number;
  /** The entry of the escalation shown, so that the action does not affect a newer one. */
  readonly escalation?: number;
  readonly untilMs?: number;
  readonly asksMore?: boolean;
};
export type ActionRequest = {
  readonly action: OperatorAction;
  /** At least one. */
  readonly targets: readonly Target[];
  /** Suggested prompts for `resume`. */
  readonly suggestions?: readonly string[];
  /** Tasks whose own action failed, so that they are still escalated although their workers are resolved. */
  readonly tasks?: readonly TaskOfWorker[];
};
export const actionTexts = {
  acknowledge: { button: 'Acknowledge', title: 'Acknowledge', done: 'Acknowledged' },
  resume: { button: 'Resume…', title: 'Resume', done: 'Resumed' },
  stop: { button: 'Stop…', title: 'Stop', done: 'Stopped' },
  retire: { button: 'Retire…', title: 'Retire', done: 'Retired' },
  pause: { button: 'Pause…', title: 'Pause', done: 'Paused' },
  unpause: { button: 'Resume judging', title: 'Resume judging', done: 'Judging resumed' },
  allow: { button: 'Allow', title: 'Allow', done: 'Allowed' },
  deny: { button: 'Deny…', title: 'Deny', done: 'Denied' },
} as const satisfies Record<OperatorAction, object>;

const nameKey = 'stopgate.by';
export const operatorName = (): string => localStorage.getItem(nameKey) ?? '';
export const rememberName = (name: string): void => localStorage.setItem(nameKey, name.trim());

/** The action to confirm, or null. */
export const pendingAction = signal<ActionRequest | null>(null);
/** Result of the last action, for display. */
export const actionNews = signal<{ readonly text: string; readonly isProblem: boolean } | null>(null);

/** Whether to offer operator actions. They are hidden for a session with a read-only token. */
export const mayOperate = (): boolean => hello.value === null || hello.value.operator || !hello.value.session;

/** Actions that need nothing but the operator's name. */
const needsNoDialog: ReadonlySet<OperatorAction> = new Set(['acknowledge', 'unpause']);

/** Requests an action. Asks for a token first if the session is not an operator's. */
export function requestAction(request: ActionRequest): void {
  if (request.targets.length === 0) return;
  const confirm = () => {
    if (needsNoDialog.has(request.action) && operatorName() !== '') void performAction(request, operatorName(), {});
    else pendingAction.value = request;
  };
  if (hello.value?.operator === true) confirm();
  else requestSignIn(confirm);
}

/** The outcome of an action. `left` is the failed part, to be retried, or null. */
type ActionResult = { readonly text: string; readonly problem: Error | null; readonly left: ActionRequest | null };

/**
 * Further input. `forMs` is the duration of a pause; null or absent means until the session ends. `grant` chooses how
 * much of a used-up budget is granted; null or absent means as configured.
 */
export type ActionDetails = {
  readonly prompt?: string;
  readonly forMs?: number | null;
  readonly grant?: GrantedAmounts | null;
};

export async function performAction(
  request: ActionRequest,
  by: string,
  details: ActionDetails,
  also?: TasksVerdict,
): Promise<ActionResult> {
  const { action, targets } = request;
  // Before sending, because the stream may be faster than the replies.
  trackActions(targets);
  const runTarget = async (target: Target) => {
    const key = targetKey(target);
    try {
      noteStored(key, (await perform(action, target, by, details)).seq);
    } catch (error) {
      untrackAction(key);
      throw error;
    }
  };
  const { text, problem, failed, failedTasks } = await settle(
    { targets, run: runTarget, ...actionTexts[action] },
    also && { ...also, run: ({ id }) => perform(also.verdict, { entity: 'task', id }, by, {}) },
  );
  actionNews.value = { text, isProblem: problem !== null };
  const tasks = failedTasks.map(({ id }) => ({ entity: 'task', id }) as const);
  if (failed.length > 0) return { text, problem, left: { ...request, targets: failed, tasks: failedTasks } };
  return {
    text,
    problem,
    left: tasks.length === 0 || also === undefined ? null : { action: also.verdict, targets: tasks },
  };
}

/** @returns the sequence of the action's entry */
function perform(
  action: OperatorAction,
  { entity, id, request, seq, escalation }: Target,
  by: string,
  { prompt = '', forMs = null, grant = null }: ActionDetails,
): Promise<{ readonly seq: number }> {
  if (action === 'acknowledge') return post('operator/acknowledge', { entity, id, by, seq: escalation ?? seq });
  if (action === 'retire') return post('operator/retire', { id, by });
  if (action === 'pause') return post('operator/pause', forMs === null ? { id, by } : { id, by, forMs });
  if (action === 'unpause') return post('operator/unpause', { id, by });
  if (action === 'allow' || action === 'deny') {
    const message = prompt.trim() === '' ? {} : { message: prompt };
    return post('operator/answer', { id, by, verdict: action, request, seq, ...message });
  }
  const withPrompt = action === 'resume' && prompt.trim() !== '' ? { prompt } : {};
  const withGrant = action === 'resume' && grant !== null ? { grant } : {};
  return post('operator/resolve', {
    entity,
    id,
    by,
    seq: escalation ?? seq,
    verdict: action,
    ...withPrompt,
    ...withGrant,
  });
}

export const isUnauthorized = (error: unknown): boolean => error instanceof ApiError && error.status === 401;
