/**
 * Hooks on a task: conditions that were registered at run time (protocol 7; seed 001, Stop Hooks). Each says complete,
 * continue or escalate. Remote ones are asked for and answered by entries; everything else is answered here.
 */

import type { HookForm } from '../entries/hook.ts';
import type { CheckResult } from '../policy/checks/check-result.ts';
import type { Validation } from '../policy/checks/validation.ts';
import { type Circumstances, holds } from '../policy/condition.ts';
import type { PromiseName } from '../policy/promise.ts';
import { idLengthMax } from '../values/id.ts';

export type Hook = { readonly hook: string; readonly enabled: boolean; readonly form: HookForm };

/** `failures` in a row have had a failed rule in their last validation; `failed`: this iteration's last one had. */
export type Iteration = {
  readonly iteration: number;
  readonly maxIterations: number;
  readonly completionPromises: readonly PromiseName[] | null;
  readonly rules: readonly string[] | null;
  readonly failuresMax: number | null;
  readonly completed: boolean;
  readonly failures: number;
  readonly failed: boolean;
};

export type HookFacts = Circumstances & {
  readonly promises: ReadonlySet<PromiseName>;
  readonly validation: Validation;
  readonly current: Iteration | null;
};

/** What one hook, or all of them, say. `hookId` is the hook that decided. */
export type HookSaying = {
  readonly action: 'complete' | 'continue' | 'escalate';
  readonly reason: string;
  readonly nextPrompt: string | null;
  readonly checkpoint: boolean;
  readonly checkpointData: unknown;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly failed: boolean;
};
/** One hook's own answer, whether it decided or not: kept with the task, so that nobody has to guess (seed 001, Hook Debugging). */
export type HookOpinion = {
  readonly hook: string;
  readonly type: HookForm['type'];
  readonly action: HookSaying['action'] | 'skip';
  readonly reason: string;
  /** It could not be evaluated; `action` is then by its `onError`. */
  readonly failed: boolean;
  /** What its remote parts took. */
  readonly tookMs: number;
};
export type HooksAnswer =
  | ({ readonly is: 'said'; readonly hookId: string; readonly opinions: readonly HookOpinion[] } & HookSaying)
  /** No enabled hook, or all of them skipped. */
  | { readonly is: 'silent'; readonly opinions: readonly HookOpinion[] }
  | { readonly is: 'ask'; readonly hookId: string; readonly key: string; readonly name: string };

type Answer =
  | HookSaying
  | { readonly is: 'skip'; readonly error: string | null }
  | { readonly is: 'ask'; readonly key: string; readonly name: string };
const skip = { is: 'skip', error: null } as const;

/** Answers of remote hooks so far, by the key that was asked for. */
export type HookResults = Readonly<Record<string, CheckResult>>;

/** In registration order; the first complete or escalate ends it; if all continue, the last one's result stands. */
export function askHooks(hooks: readonly Hook[], facts: HookFacts, results: HookResults): HooksAnswer {
  const opinions: HookOpinion[] = [];
  let last: HooksAnswer = { is: 'silent', opinions };
  let checkpoint = false;
  for (const each of hooks) {
    const { hook, enabled, form } = each;
    if (!enabled) continue;
    const answer = ask(form, facts, results, hook);
    if ('is' in answer && answer.is === 'ask') return { ...answer, hookId: hook };
    opinions.push(opinionOf(each, answer, results));
    if ('is' in answer) continue;
    checkpoint ||= answer.checkpoint;
    last = { is: 'said', hookId: hook, opinions, ...answer, checkpoint };
    if (answer.action !== 'continue') return last;
  }
  return last.is === 'said' && last.action === 'continue' ? capIterations(last, facts.current) : last;
}

function opinionOf(
  { hook, form }: Hook,
  answer: HookSaying | Extract<Answer, { is: 'skip' }>,
  results: HookResults,
): HookOpinion {
  let tookMs = 0;
  for (const [key, result] of Object.entries(results))
    if (key === hook || key.startsWith(`${hook}/`)) tookMs += result.tookMs ?? 0;
  const place = { hook, type: form.type, tookMs };
  if ('is' in answer) {
    const reason = answer.error === null ? 'Its condition does not hold' : `Hook evaluation failed: ${answer.error}`;
    return { ...place, action: 'skip', reason, failed: answer.error !== null };
  }
  return { ...place, action: answer.action, reason: answer.reason, failed: answer.failed };
}

function capIterations(last: HooksAnswer & { is: 'said' }, current: Iteration | null): HooksAnswer {
  if (current === null || current.completed || current.iteration < current.maxIterations) return last;
  return {
    ...last,
    action: 'escalate',
    reason: `Maximum iterations reached (${current.maxIterations})`,
    nextPrompt: null,
  };
}

function ask(form: HookForm, facts: HookFacts, results: HookResults, key: string): Answer {
  if (!holds(form.when, facts)) return skip;
  switch (form.type) {
    case 'promise':
      return askPromise(facts) ?? say('continue', 'No completion promise detected');
    case 'validation':
      return askValidation(facts) ?? say('continue', 'No validation results');
    case 'default':
      return askPromise(facts) ?? askValidation(facts) ?? say('continue', 'Iteration in progress');
    case 'tdd':
      return passed(facts, 'tests_pass')
        ? say('complete', 'All tests pass')
        : say('continue', 'Tests still failing', { nextPrompt: 'Fix failing tests and run again' });
    case 'security':
      return askSecurity(facts);
    case 'checkpoint': {
      const at = typeof form.metadata?.at === 'number' ? form.metadata.at : 5;
      const saves = facts.iteration === at;
      return say('continue', saves ? 'Checkpoint saved' : 'Iteration in progress', { checkpoint: saves });
    }
    case 'remote': {
      // By its own key: a hook may be named `constructor`.
      const result = Object.hasOwn(results, key) ? results[key] : undefined;
      return result === undefined ? { is: 'ask', key, name: form.name ?? key } : remoteAnswer(form, result);
    }
    case 'all':
    case 'any':
      return askGroup(form, facts, results, key);
  }
}

function askGroup(form: HookForm, facts: HookFacts, results: HookResults, key: string): Answer {
  const said: HookSaying[] = [];
  let error: string | null = null;
  for (const [index, member] of (form.of ?? []).entries()) {
    const answer = ask(member, facts, results, `${key}/${index}`);
    if (!('is' in answer)) said.push(answer);
    else if (answer.is === 'ask') return answer;
    else error ??= answer.error;
  }
  if (said.length === 0) return { is: 'skip', error };
  const checkpoint = said.some((it) => it.checkpoint);
  const escalate = said.find((it) => it.action === 'escalate');
  if (escalate !== undefined) return { ...escalate, checkpoint };
  const open = said.filter((it) => it.action === 'continue');
  const complete = said.find((it) => it.action === 'complete');
  const [first] = open;
  if (complete !== undefined && (form.type === 'any' || first === undefined)) return { ...complete, checkpoint };
  const reason = form.type === 'all' ? first?.reason : open.map((it) => it.reason).join('; or ');
  return { ...(first as HookSaying), reason: reason ?? '', checkpoint };
}

function askPromise({ promises, current }: HookFacts): HookSaying | null {
  const counts = (name: PromiseName) => promises.has(name) && (current?.completionPromises?.includes(name) ?? true);
  if (counts('COMPLETE')) return say('complete', 'Agent signaled completion via <promise>COMPLETE</promise>');
  if (counts('ESCALATE')) return say('escalate', 'Agent asked for a person via <promise>ESCALATE</promise>');
  return counts('BLOCKED') ? say('escalate', 'Agent is blocked and said so via <promise>BLOCKED</promise>') : null;
}

/** Null: no results. Where the iteration names rules, those alone count, and one that was not reported has failed. */
function askValidation({ validation, current }: HookFacts): HookSaying | null {
  const rules = current?.rules ?? null;
  const seen = rules === null ? validation : validation.filter((it) => rules.includes(it.rule));
  if (seen.length === 0) return null;
  const missing = (rules ?? []).filter((rule) => !seen.some((it) => it.rule === rule));
  const failed = [...new Set([...seen.filter((it) => !it.passed).map((it) => it.rule), ...missing])];
  if (failed.length === 0) return say('complete', 'All rules passed');
  const feedback = seen.filter((it) => !it.passed).map(({ rule, message }) => ({ rule, message: message ?? null }));
  return say('continue', `Failed rules: ${failed.join(', ')}`, { metadata: { failedRules: failed, feedback } });
}

function askSecurity(facts: HookFacts): HookSaying {
  if (passed(facts, 'vulns_fixed') && passed(facts, 'sast_clean')) return say('complete', 'All rules passed');
  return facts.iteration >= 10
    ? say('escalate', 'Max iterations reached - complex vulnerabilities may require manual review')
    : say('continue', 'Vulnerabilities remain');
}

function remoteAnswer(form: HookForm, result: CheckResult): Answer {
  if (result.outcome === 'error' || result.outcome === 'timeout') {
    const error = result.reason ?? (result.outcome === 'timeout' ? 'no reply in time' : 'unknown error');
    if (form.onError === 'skip') return { is: 'skip', error };
    return say('escalate', `Hook evaluation failed: ${error}`, {
      metadata: { ...result.metadata, error },
      failed: true,
    });
  }
  const action = result.action ?? (result.outcome === 'pass' ? 'complete' : 'continue');
  const checkpointData = result.checkpointData ?? null;
  return say(action, result.reason ?? `Check ${form.name ?? ''} says ${action}`, {
    nextPrompt: result.nextPrompt ?? null,
    checkpoint: checkpointData !== null,
    checkpointData,
    metadata: result.metadata ?? {},
  });
}

/** What hooks want saved, as an entry would say it; phase and step also by seed 001's names (CheckpointData). */
export function checkpointOfHooks(attempt: string, saved: unknown) {
  const {
    executionPhase,
    executionStep,
    phase = executionPhase,
    step = executionStep,
  } = (saved ?? {}) as Partial<Record<'executionPhase' | 'executionStep' | 'phase' | 'step', unknown>>;
  return {
    checkpoint: `${attempt}-hooks`.slice(0, idLengthMax),
    context: saved,
    ...(typeof phase === 'string' ? { phase } : {}),
    ...(typeof step === 'string' || typeof step === 'number' ? { step } : {}),
  };
}

const passed = ({ validation }: HookFacts, rule: string) =>
  validation.some((it) => it.rule === rule && it.passed) && !validation.some((it) => it.rule === rule && !it.passed);

const say = (action: HookSaying['action'], reason: string, more: Partial<HookSaying> = {}): HookSaying => ({
  action,
  reason,
  nextPrompt: null,
  checkpoint: false,
  checkpointData: null,
  metadata: {},
  failed: false,
  ...more,
});
