/** Shortens the answer of hooks to fit into one message and to be readable (docs/protocol.md §2). */
import { decisionBytesMax, nextPromptLengthMax, reasonLengthMax } from '../../values/limits.ts';
import { cutMiddle, utf8Length } from '../../values/text.ts';
import type { HookResult } from '../decision.ts';

export function fitHookResult(result: HookResult): HookResult {
  const { reason, nextPrompt, metadata } = result;
  const cut = {
    ...result,
    reason: cutMiddle(reason, reasonLengthMax),
    nextPrompt: nextPrompt === null ? null : cutMiddle(nextPrompt, nextPromptLengthMax),
  };
  if (utf8Length(JSON.stringify(cut)) <= decisionBytesMax) return cut;
  const { error } = metadata;
  const known = typeof error === 'string' ? { error: cutMiddle(error, reasonLengthMax) } : {};
  return { ...cut, metadata: { ...known, cut: '…' } };
}
