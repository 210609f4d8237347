/** Hooks of type `remote`: answered by a client that serves the check's subject. */
import type { HookForm } from '../../entries/hook.ts';
import type { CheckResult } from '../../policy/checks/check-result.ts';
import { fromJsonText, type JsonText, toJsonText } from '../../values/json-text.ts';
import { answer, type HookOutcome, type HookResults, type RemoteAnswer } from './hook.ts';

/** Two hooks of a task with one `name` are one question within an attempt (protocol.md §5). */
export function remoteOutcome(form: HookForm, results: HookResults): HookOutcome {
  const name = form.name as string;
  // Of its own: a check may be named `constructor`.
  const result = Object.hasOwn(results, name) ? results[name] : undefined;
  return result === undefined ? { kind: 'pending', key: name, name } : outcomeOf(form, result);
}

/** A hook that could not be evaluated: its `onError` says what that means. */
export function failed({ onError }: HookForm, error: string, metadata: JsonText | null = null): HookOutcome {
  if (onError === 'skip') return { kind: 'skip', error };
  const withError = () => ({ ...metadataOf(metadata), error });
  return answer('escalate', `Hook evaluation failed: ${error}`, { metadata: withError, failed: true });
}

const metadataOf = (text: JsonText | null) => (text === null ? {} : (fromJsonText(text) as Record<string, unknown>));

export function keptAnswer(result: CheckResult): RemoteAnswer {
  const { outcome, reason, action, nextPrompt, tookMs, checkpointData, metadata } = result;
  return {
    ...{ outcome, reason, action, nextPrompt, tookMs },
    checkpointData: checkpointData == null ? null : toJsonText(checkpointData),
    metadata: metadata === undefined ? null : toJsonText(metadata),
  };
}

function outcomeOf(form: HookForm, result: RemoteAnswer): HookOutcome {
  if (result.outcome === 'error' || result.outcome === 'timeout') {
    const error = result.reason ?? (result.outcome === 'timeout' ? 'no reply in time' : 'unknown error');
    return failed(form, error, result.metadata);
  }
  const action = result.action ?? (result.outcome === 'pass' ? 'complete' : 'continue');
  const { checkpointData, metadata } = result;
  return answer(action, result.reason ?? `Check ${form.name ?? ''} says ${action}`, {
    nextPrompt: result.nextPrompt ?? null,
    checkpoint: checkpointData !== null,
    checkpointData,
    metadata: () => metadataOf(metadata),
  });
}
