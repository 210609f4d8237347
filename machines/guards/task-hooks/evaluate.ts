/**
 * Evaluates the hooks of a task. Remote hooks stay pending until an entry answers them; all others answer at once.
 */
import type { HookForm } from '../../entries/task.ts';
import type { CheckResult } from '../../policy/checks/check-result.ts';
import { holds } from '../../policy/condition.ts';
import { tooMuchWork } from '../../policy/glob.ts';
import { idLengthMax } from '../../values/id.ts';
import { decisionBytesMax, nextPromptLengthMax, reasonLengthMax } from '../../values/limits.ts';
import { cutMiddle, fromJsonText, type JsonText, toJsonText, utf8Length } from '../../values/text.ts';
import type { HookResult } from '../decision.ts';
import {
  answer,
  type Hook,
  type HookAnswer,
  type HookFacts,
  type HookOutcome,
  type HookResults,
  type HookRun,
  type HookSkip,
  type Iteration,
  type RemoteAnswer,
} from './hook.ts';
import { presets, type ReportedResults, readResults } from './presets.ts';

// Hooks of type `all` and `any`.

/**
 * Ignores members that skip; if all skip, so does the group. If any member escalates, so does the group. An `all` with
 * a member that was skipped because of an error never completes, since that member was not judged (protocol.md §7).
 */
function evaluateGroup(
  { of: members = [] }: HookForm,
  type: 'all' | 'any',
  evaluate: (member: HookForm, index: number) => HookOutcome,
): HookOutcome {
  const answers: HookAnswer[] = [];
  let error: string | null = null;
  for (const [index, member] of members.entries()) {
    const outcome = evaluate(member, index);
    if (outcome.kind === 'awaits') return outcome;
    if (outcome.kind === 'answer') answers.push(outcome);
    else error ??= outcome.error;
  }
  if (answers.length === 0) return { kind: 'skip', error };
  const combined = combineAnswers(answers, type);
  if (type === 'all' && error !== null && combined.action === 'complete') return { kind: 'skip', error };
  const { checkpoint, checkpointData } = answers.reduce(joinCheckpoints, noCheckpoint);
  return { ...combined, checkpoint, checkpointData };
}

type Checkpoint = Pick<HookAnswer, 'checkpoint' | 'checkpointData'>;
const noCheckpoint: Checkpoint = { checkpoint: false, checkpointData: null };

/** A checkpoint is saved if any hook wants one. The last hook with data provides the data. */
const joinCheckpoints = (before: Checkpoint, { checkpoint, checkpointData }: Checkpoint): Checkpoint => ({
  checkpoint: before.checkpoint || checkpoint,
  checkpointData: checkpointData ?? before.checkpointData,
});

function combineAnswers(answers: readonly HookAnswer[], type: 'all' | 'any'): HookAnswer {
  const escalate = answers.find((answered) => answered.action === 'escalate');
  if (escalate !== undefined) return escalate;
  const open = answers.filter((answered) => answered.action === 'continue');
  const complete = answers.find((answered) => answered.action === 'complete');
  const [first] = open;
  if (complete !== undefined && (type === 'any' || first === undefined)) return complete;
  if (type === 'all') return first as HookAnswer;
  // The reasons are already cut. Cutting the joined text again gives the same as cutting the whole.
  const reason = cutMiddle(open.map((answered) => answered.reason).join('; or '), reasonLengthMax);
  return { ...(first as HookAnswer), reason, reasons: open.flatMap((answered) => answered.reasons) };
}

// Hooks of type `remote`, answered by a client that serves the check's subject.

/** Hooks of a task with the same `name` are asked only once in an attempt (protocol.md §5). */
function remoteOutcome(form: HookForm, results: HookResults): HookOutcome {
  const name = form.name as string;
  // A check may be named `constructor`.
  const result = Object.hasOwn(results, name) ? results[name] : undefined;
  return result === undefined ? { kind: 'awaits', key: name, name } : outcomeOf(form, result);
}

/** The outcome of a hook that could not be evaluated, as its `onError` says. */
function failed({ onError }: HookForm, error: string, metadata: JsonText | null = null): HookOutcome {
  if (onError === 'skip') return { kind: 'skip', error };
  const withError = () => ({ ...metadataOf(metadata), error });
  return answer('escalate', `Hook evaluation failed: ${error}`, { metadata: withError, failed: true });
}

const metadataOf = (text: JsonText | null) => (text === null ? {} : (fromJsonText(text) as Record<string, unknown>));

export function keptAnswer(result: CheckResult): RemoteAnswer {
  const { outcome, reason, action, nextPrompt, tookMs, checkpointData, metadata } = result;
  return {
    outcome,
    reason,
    action,
    nextPrompt,
    tookMs,
    checkpointData: isEmpty(checkpointData) ? null : toJsonText(checkpointData),
    metadata: metadata === undefined ? null : toJsonText(metadata),
  };
}

/** Tells whether a checkpoint of this data would be empty. */
const isEmpty = (data: unknown): boolean =>
  data === undefined || data === null || data === '' || (typeof data === 'object' && Object.keys(data).length === 0);

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

/** `hookId`: the hook that decided. */
export type HooksOutcome =
  | (HookAnswer & { readonly hookId: string; readonly runs: readonly HookRun[] })
  /** No hook is enabled, or all skipped. */
  | { readonly kind: 'none'; readonly runs: readonly HookRun[] }
  | { readonly kind: 'awaits'; readonly hookId: string; readonly key: string; readonly name: string };

/**
 * Evaluates hooks in registration order up to the first that completes or escalates. If all continue, the last answer
 * counts.
 */
export function evaluateHooks(hooks: readonly Hook[], facts: HookFacts, results: HookResults): HooksOutcome {
  const runs: HookRun[] = [];
  let last: Exclude<HooksOutcome, { kind: 'awaits' }> = { kind: 'none', runs };
  let saved = noCheckpoint;
  const reported = readResults(facts);
  for (const each of hooks) {
    const { hook, enabled, form } = each;
    if (!enabled) continue;
    const outcome = evaluateHook(form, facts, results, reported);
    if (outcome.kind === 'awaits') return { hookId: hook, ...outcome };
    runs.push(runOf(each, outcome, results));
    if (outcome.kind === 'skip') continue;
    saved = joinCheckpoints(saved, outcome);
    last = { hookId: hook, runs, ...outcome, checkpoint: saved.checkpoint, checkpointData: saved.checkpointData };
    if (outcome.action !== 'continue') return last;
  }
  return last.kind === 'answer' ? capIterations(last, facts.current) : last;
}

function runOf({ hook, form }: Hook, outcome: HookAnswer | HookSkip, results: HookResults): HookRun {
  let tookMs = 0;
  for (const name of new Set(remoteNames(form))) if (Object.hasOwn(results, name)) tookMs += results[name]?.tookMs ?? 0;
  const { type } = form;
  if (outcome.kind === 'answer') {
    const { action, reason, failed } = outcome;
    return { hook, type, tookMs, action, reason, failed };
  }
  const { error } = outcome;
  const why = error === null ? 'Its condition does not hold' : `Hook evaluation failed: ${error}`;
  return { hook, type, tookMs, action: 'skip', reason: cutMiddle(why, reasonLengthMax), failed: error !== null };
}

const remoteNames = (form: HookForm): readonly string[] =>
  form.type === 'remote' ? [form.name ?? ''] : (form.of ?? []).flatMap(remoteNames);

function capIterations<Answer extends HookAnswer>(last: Answer, current: Iteration | null): Answer {
  if (current === null || current.completed || current.iteration < current.maxIterations) return last;
  const reason = `Maximum iterations reached (${current.maxIterations})`;
  return { ...last, action: 'escalate', reason, reasons: [reason], nextPrompt: null };
}

function evaluateHook(form: HookForm, facts: HookFacts, results: HookResults, reported: ReportedResults): HookOutcome {
  const isMet = holds(form.when, facts);
  if (isMet === null) return failed(form, tooMuchWork);
  if (!isMet) return { kind: 'skip', error: null };
  switch (form.type) {
    case 'remote':
      return remoteOutcome(form, results);
    case 'all':
    case 'any':
      return evaluateGroup(form, form.type, (member) => evaluateHook(member, facts, results, reported));
    default:
      return presets[form.type](facts, reported, form);
  }
}

/** Shortens the answer of hooks so that it is readable and fits into one message (docs/protocol.md §2). */
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

/** The known fields of a hook's `checkpointData`. */
type Saved = Partial<
  Record<'executionPhase' | 'executionStep' | 'agentContext' | 'phase' | 'step' | 'context', unknown>
>;

/** Returns `checkpoint.saved` fields; accepts seed 001's names too. Without a context, all the data is the context. */
export function checkpointOfHooks(attempt: string, data: JsonText | null) {
  const saved = data === null ? null : fromJsonText(data);
  const fields = (saved ?? {}) as Saved;
  const { phase = fields.executionPhase, step = fields.executionStep, context = fields.agentContext } = fields;
  return {
    checkpoint: `${attempt}-hooks`.slice(0, idLengthMax),
    context: context === undefined ? saved : context,
    ...(typeof phase === 'string' ? { phase } : {}),
    ...(typeof step === 'string' || typeof step === 'number' ? { step } : {}),
  };
}
