/** Hooks of type `all` and `any`: several conditions together. */
import type { HookForm } from '../../entries/hook.ts';
import { reasonLengthMax } from '../../values/limits.ts';
import { cutMiddle } from '../../values/text.ts';
import type { HookAnswer, HookOutcome } from './hook.ts';

/**
 * Members that skip are left out; with none left the group skips. An escalate of any member is the group's. An `all`
 * with a member that was skipped in error never completes: it was not judged (protocol.md §7).
 */
export function evaluateGroup(
  { of: members = [] }: HookForm,
  type: 'all' | 'any',
  evaluate: (member: HookForm, index: number) => HookOutcome,
): HookOutcome {
  const answers: HookAnswer[] = [];
  let error: string | null = null;
  for (const [index, member] of members.entries()) {
    const outcome = evaluate(member, index);
    if (outcome.kind === 'pending') return outcome;
    if (outcome.kind === 'answer') answers.push(outcome);
    else error ??= outcome.error;
  }
  if (answers.length === 0) return { kind: 'skip', error };
  const checkpoint = answers.some((it) => it.checkpoint);
  const answer = together(answers, type);
  if (type === 'all' && error !== null && answer.action === 'complete') return { kind: 'skip', error };
  return { ...answer, checkpoint };
}

function together(answers: readonly HookAnswer[], type: 'all' | 'any'): HookAnswer {
  const escalate = answers.find((it) => it.action === 'escalate');
  if (escalate !== undefined) return escalate;
  const open = answers.filter((it) => it.action === 'continue');
  const complete = answers.find((it) => it.action === 'complete');
  const [first] = open;
  if (complete !== undefined && (type === 'any' || first === undefined)) return complete;
  if (type === 'all') return first as HookAnswer;
  // Each is cut already; cut again it is what the whole text would be.
  const reason = cutMiddle(open.map((it) => it.reason).join('; or '), reasonLengthMax);
  return { ...(first as HookAnswer), reason, reasons: open.flatMap((it) => it.reasons) };
}
