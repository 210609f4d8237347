/**
 * What a person tells stopgate by a prompt of the session: `/stopgate off`, `/stopgate off 30m`, `/stopgate on`, and
 * `/stopgate` or `/stopgate status`. Anything more than these words is a prompt for the agent.
 */
import type { WorkerView } from '../../../machines/index.ts';
import { usedUp } from '../../../machines/index.ts';
import { describeLine } from '../../../machines/policy/budget.ts';
import { pauseMsMax } from '../../../machines/values/limits.ts';
import { formatDuration, parseDuration } from '../../../machines/values/time.ts';
import { hideSecrets } from './secrets.ts';
import { cutMiddle, plainText } from './text.ts';

export type PersonCommand =
  /** `forMs` null: until the session ends. */
  | { readonly kind: 'pause'; readonly forMs: number | null }
  | { readonly kind: 'unpause' }
  | { readonly kind: 'status' };

/** Returns null if it is a prompt for the agent. */
export function readPersonCommand(prompt: string | undefined): PersonCommand | null {
  const [word, verb = 'status', time, ...rest] = (prompt ?? '').trim().split(/[ \t]+/);
  if (word !== '/stopgate' || rest.length > 0) return null;
  if (verb === 'off') {
    if (time === undefined) return { kind: 'pause', forMs: null };
    const forMs = parseDuration(time);
    return forMs === null || forMs <= 0 || forMs > pauseMsMax ? null : { kind: 'pause', forMs };
  }
  if (time !== undefined) return null;
  return verb === 'on' ? { kind: 'unpause' } : verb === 'status' ? { kind: 'status' } : null;
}

/** The name under which the log has a person at the session, of whom nobody knows more. */
export const personAtSession = 'the person at the session';

const reasonCharsMax = 300;

/** Says for a person how the worker stands. */
export function describeStanding(view: WorkerView): string {
  const { state, policy, rules, retry, lastDecision, paused, budgets = [] } = view;
  const checks = rules.checks === 1 ? '1 check' : `${rules.checks} checks`;
  const used = usedUp(budgets);
  const lines = [
    `stopgate: this session is ${state}, under the policy ${policy ?? 'none'} (${checks}).`,
    paused === null
      ? null
      : `Its stops are not judged: paused by ${paused.by}${paused.until === null ? ' until the session ends' : ` until ${paused.until}`}. /stopgate on ends that.`,
    retry.max === null ? null : `Blocked ${retry.count} of ${retry.max} times.`,
    used === null ? null : `Its budget is used up: ${describeLine(used)}.`,
    lastDecision === null
      ? 'It has not asked to stop yet.'
      : `Its last stop: ${lastDecision.decision}, ${lastDecision.cause}${lastDecision.reason === '' ? '' : ` (${shown(lastDecision.reason)})`}.`,
  ];
  return lines.filter((line) => line !== null).join('\n');
}

const shown = (reason: string): string => cutMiddle(hideSecrets(plainText(reason)), reasonCharsMax);

/** Says for a person what their command has led to. `paused`: as it is now. */
export function describeCommand(
  command: Exclude<PersonCommand, { kind: 'status' }>,
  paused: WorkerView['paused'],
): string {
  if (command.kind === 'unpause') return 'stopgate: stops of this session are judged again.';
  if (paused === null) return 'stopgate: the policy of this session does not allow a pause, so its stops are judged.';
  const how = command.forMs === null ? 'until it ends' : `for ${formatDuration(command.forMs)}`;
  return `stopgate: stops of this session are not judged ${how}. /stopgate on ends that.`;
}
