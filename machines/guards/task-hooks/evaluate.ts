/** Evaluates the hooks of a task. Remote ones are pending until an entry answers them; all others are answered here. */
import type { HookForm } from '../../entries/hook.ts';
import { holds } from '../../policy/condition.ts';
import { tooMuchWork } from '../../policy/work.ts';
import { reasonLengthMax } from '../../values/limits.ts';
import { cutMiddle } from '../../values/text.ts';
import { evaluateGroup } from './group.ts';
import type { Hook, HookAnswer, HookFacts, HookOutcome, HookResults, HookRun, HookSkip, Iteration } from './hook.ts';
import { presets } from './presets.ts';
import { failed, remoteOutcome } from './remote.ts';

/** `hookId`: the hook that decided. */
export type HooksOutcome =
  | (HookAnswer & { readonly hookId: string; readonly runs: readonly HookRun[] })
  /** No enabled hook, or all of them skipped. */
  | { readonly kind: 'none'; readonly runs: readonly HookRun[] }
  | { readonly kind: 'pending'; readonly hookId: string; readonly key: string; readonly name: string };

/** In registration order; the first complete or escalate ends it; if all continue, the last one's answer stands. */
export function evaluateHooks(hooks: readonly Hook[], facts: HookFacts, results: HookResults): HooksOutcome {
  const runs: HookRun[] = [];
  let last: Exclude<HooksOutcome, { kind: 'pending' }> = { kind: 'none', runs };
  let checkpoint = false;
  for (const each of hooks) {
    const { hook, enabled, form } = each;
    if (!enabled) continue;
    const outcome = evaluateHook(form, facts, results);
    if (outcome.kind === 'pending') return { ...outcome, hookId: hook };
    runs.push(runOf(each, outcome, results));
    if (outcome.kind === 'skip') continue;
    checkpoint ||= outcome.checkpoint;
    last = { hookId: hook, runs, ...outcome, checkpoint };
    if (outcome.action !== 'continue') return last;
  }
  return last.kind === 'answer' ? capIterations(last, facts.current) : last;
}

function runOf({ hook, form }: Hook, outcome: HookAnswer | HookSkip, results: HookResults): HookRun {
  let tookMs = 0;
  for (const name of new Set(remoteNames(form))) if (Object.hasOwn(results, name)) tookMs += results[name]?.tookMs ?? 0;
  const run = { hook, type: form.type, tookMs };
  if (outcome.kind === 'answer')
    return { ...run, action: outcome.action, reason: outcome.reason, failed: outcome.failed };
  const { error } = outcome;
  const reason = error === null ? 'Its condition does not hold' : `Hook evaluation failed: ${error}`;
  return { ...run, action: 'skip', reason: cutMiddle(reason, reasonLengthMax), failed: error !== null };
}

const remoteNames = (form: HookForm): readonly string[] =>
  form.type === 'remote' ? [form.name ?? ''] : (form.of ?? []).flatMap(remoteNames);

function capIterations<It extends HookAnswer>(last: It, current: Iteration | null): It {
  if (current === null || current.completed || current.iteration < current.maxIterations) return last;
  const reason = `Maximum iterations reached (${current.maxIterations})`;
  return { ...last, action: 'escalate', reason, reasons: [reason], nextPrompt: null };
}

function evaluateHook(form: HookForm, facts: HookFacts, results: HookResults): HookOutcome {
  const isMet = holds(form.when, facts);
  if (isMet === null) return failed(form, tooMuchWork);
  if (!isMet) return { kind: 'skip', error: null };
  switch (form.type) {
    case 'remote':
      return remoteOutcome(form, results);
    case 'all':
    case 'any':
      return evaluateGroup(form, form.type, (member) => evaluateHook(member, facts, results));
    default:
      return presets[form.type](facts, form);
  }
}
