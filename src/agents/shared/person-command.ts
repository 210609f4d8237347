/**
 * Commands to stopgate that a person types as a prompt: `/stopgate off`, `/stopgate off 30m`, `/stopgate on`, and
 * `/stopgate` or `/stopgate status`. A prompt with any other words is for the agent.
 */
import type { WorkerView } from '../../../machines/index.ts';
import { usedUp } from '../../../machines/index.ts';
import { describeLine } from '../../../machines/policy/budget.ts';
import { pauseMsMax } from '../../../machines/values/limits.ts';
import { formatDuration, parseDuration } from '../../../machines/values/time.ts';
import { hideSecrets } from './secrets.ts';
import { cutMiddle, plainText } from './text.ts';

export type PersonCommand =
  /** `forMs` is null for a pause until the session ends. */
  | { readonly kind: 'pause'; readonly forMs: number | null }
  | { readonly kind: 'unpause' }
  | { readonly kind: 'status' };

/** Returns null if the prompt is for the agent. */
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

/** Recorded as the author of such a command, since the person's name is unknown. */
export const personAtSession = 'the person at the session';

const reasonCharsMax = 300;

/** The answer to `/stopgate status`. */
export function describeStatus(view: WorkerView): string {
  const { state, policy, rules, retry, lastDecision, paused, budgets = [] } = view;
  const checks = rules.checks === 1 ? '1 check' : `${rules.checks} checks`;
  const used = usedUp(budgets);
  const lines = [
    `stopgate: this session is ${state}, under the policy ${policy ?? 'none'} (${checks}).`,
    paused === null
      ? null
      : `Its stops are not judged: paused by ${paused.by}${paused.until === null ? ' until the session ends' : ` until ${paused.until}`}. To end the pause: /stopgate on`,
    retry.max === null ? null : `Retries used: ${retry.count} of ${retry.max}.`,
    used === null ? null : `Its budget is used up: ${describeLine(used)}.`,
    lastDecision === null
      ? 'It has not asked to stop yet.'
      : `Its last stop: ${lastDecision.decision}, ${lastDecision.cause}${lastDecision.reason === '' ? '' : ` (${shown(lastDecision.reason)})`}.`,
  ];
  return lines.filter((line) => line !== null).join('\n');
}

const shown = (reason: string): string => cutMiddle(hideSecrets(plainText(reason)), reasonCharsMax);

/** The answer to `/stopgate off` and `on`. @param paused the pause that is in effect after the command */
export function describeCommand(
  command: Exclude<PersonCommand, { kind: 'status' }>,
  paused: WorkerView['paused'],
): string {
  if (command.kind === 'unpause') return "stopgate: this session's stops are judged again.";
  if (paused === null) return "stopgate: this session's policy does not allow pauses, so its stops are still judged.";
  const how = command.forMs === null ? 'until it ends' : `for ${formatDuration(command.forMs)}`;
  return `stopgate: this session's stops are not judged ${how}. To end the pause: /stopgate on`;
}
