/** Guard 9: the hooks that were registered on the held task (protocol.md §7). */
import { checkTimeoutMs } from '../policy/checks/check.ts';
import type { Feedback } from '../policy/checks/check-result.ts';
import { promisesOf } from '../policy/promise.ts';
import { cutMiddle } from '../values/text.ts';
import { circumstancesOf, pendingSince } from './circumstances.ts';
import { allow, block, constantPass, type Guard, type GuardScope } from './guard.ts';
import { promptFor } from './prompt.ts';
import { evaluateHooks } from './task-hooks/evaluate.ts';
import type { HookFacts, HookResults, HookRun } from './task-hooks/hook.ts';

export const hooks: Guard = (scope) => {
  const { attempt } = scope;
  const { task } = attempt.facts;
  if (task === null || task.hooks.length === 0) return none;
  const place = { task: task.task, hooks: task.hooks.filter((it) => it.enabled).map((it) => it.hook) };
  const outcome = evaluateHooks(task.hooks, hookFactsOf(scope), resultsOf(scope));
  if (outcome.kind === 'pending') {
    const { key, name } = outcome;
    const pending = pendingSince(attempt, { name, timeoutMs: checkTimeoutMs, onRunner: false });
    const check = { by: 'hooks', key: `${task.task}:${key}`, remote: name, ...pending } as const;
    return { kind: 'pending', detail: `asked ${name}`, input: place, check };
  }
  const { runs } = outcome;
  const input = { ...place, said: runs.map(shownOf) };
  const failed = runs.find((run) => run.action === 'skip' && run.failed);
  const error = failed === undefined ? {} : ({ isError: true, detail: `${failed.hook}: ${failed.reason}` } as const);
  if (outcome.kind === 'none')
    return { kind: 'pass', detail: 'none has a say', input, kept: { hookRuns: runs }, ...error };
  const { hookId, action, reason, metadata } = outcome;
  const kept = { hookRuns: runs, ...(outcome.checkpoint ? { checkpoint: { data: outcome.checkpointData } } : {}) };
  const result = { detail: `${hookId}: ${action} (${reason})`, input };
  if (action === 'complete') return { ...result, kind: 'pass', kept, ...error };
  if (action === 'escalate')
    return { ...result, kind: 'decides', kept, ruling: allow('escalate', 'escalated', reason) };
  const feedback: Feedback[] = [{ check: hookId, outcome: 'fail', message: reason, details: metadata() }];
  const ruling = block('incomplete', reason, outcome.nextPrompt ?? promptFor(reason, feedback));
  return { ...result, kind: 'decides', kept: { ...kept, feedback }, ruling, reasons: outcome.reasons };
};

const none = constantPass('none');

const shownOf = ({ hook, action, reason }: HookRun) => ({ hook, action, reason: cutMiddle(reason, 200) });

function hookFactsOf(scope: GuardScope): HookFacts {
  const { fields, facts } = scope.attempt;
  return {
    ...circumstancesOf(scope),
    promises: promisesOf(fields),
    validation: fields.validation ?? [],
    current: facts.task?.iteration ?? null,
  };
}

/** A worker may claim another task while a hook is pending, and hooks are named within their task. */
function resultsOf({ attempt: { facts, hookResults } }: GuardScope): HookResults {
  const prefix = `${facts.task?.task ?? null}:`;
  return Object.fromEntries(
    Object.entries(hookResults)
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, result]) => [key.slice(prefix.length), result]),
  );
}
