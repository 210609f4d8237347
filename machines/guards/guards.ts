/**
 * The thirteen guards of a stop, in the protocol's order (protocol 5): the first that speaks decides. Read `guards`
 * beside the protocol's table, line by line. `judge` asks them; an attempt that has to wait goes on where it stood.
 */

import { checkTimeoutMs, type Findings } from '../policy/checks/check.ts';
import type { Feedback } from '../policy/checks/check-result.ts';
import { evaluateChecks } from '../policy/checks/evaluate.ts';
import { type PromiseName, promisesOf } from '../policy/promise.ts';
import { formatDuration } from '../values/duration.ts';
import type { Ask, Attempt, Facts, Judged, Ruling } from './attempt.ts';
import type { GuardName, Idle, Verdict } from './decision.ts';
import { askHooks, type HookOpinion, type HookResults } from './task-hook.ts';

type Question = { readonly worker: Judged; readonly attempt: Attempt; readonly facts: Facts };
type Opinion = {
  readonly detail: string;
  readonly input: Record<string, unknown>;
  /** Absent: the guard passes. */
  readonly ruling?: Ruling;
  readonly errs?: true;
  readonly feedback?: readonly Feedback[];
  readonly findings?: Findings;
  readonly checkpoint?: { readonly data: unknown };
  readonly opinions?: readonly HookOpinion[];
  /** The attempt stays open for an answer from outside, or is held. */
  readonly ask?: Ask;
  readonly hold?: true;
};
type Guard = (question: Question) => Opinion;

export const guards: Readonly<Record<GuardName, Guard>> = {
  retired: ({ worker }) => {
    const input = { ended: worker.ended };
    if (worker.ended === null) return { detail: 'in service', input };
    const reason = worker.ended === 'retired' ? 'The worker is retired' : 'The session has ended';
    return { detail: reason, input, ruling: allow('complete', 'retired', reason) };
  },

  escalated: ({ worker }) => {
    const input = { escalated: worker.escalation !== null };
    if (worker.escalation === null) return { detail: 'not escalated', input };
    const reason = 'Escalated: a person must look at this worker first';
    return { detail: 'nobody has resolved it', input, ruling: allow('escalate', 'escalated', reason) };
  },

  bypass: ({ worker, attempt }) => {
    const stopReason = attempt.fields.stopReason ?? null;
    const input = { budgetExhausted: worker.budgetExhausted, stopReason };
    const listed = stopReason !== null && attempt.inForce.policy.bypass.includes(stopReason);
    if (!worker.budgetExhausted && !listed) return { detail: 'judged', input };
    const reason = worker.budgetExhausted
      ? 'The budget is used up: the stop is not judged'
      : `Stops for '${stopReason}' are not judged`;
    return { detail: reason, input, ruling: allow('complete', 'bypassed', reason) };
  },

  limited: ({ facts }) => {
    const input = { limited: facts.limited };
    if (!facts.limited) return { detail: 'no usage limit', input };
    return {
      detail: 'a limit holds',
      input,
      ruling: allow('continue', 'limited', 'A usage limit holds: the session pauses'),
    };
  },

  waiting: ({ worker }) => {
    // An agent may name any number of things at any length; a decision must fit into one message.
    const shown = worker.background.slice(0, 20).map((it) => (it.length > 200 ? `${it.slice(0, 200)}…` : it));
    const input = { background: shown, awaitsInput: worker.awaitsInput };
    const waits = [...shown, ...(worker.awaitsInput ? ["a person's input"] : [])];
    if (waits.length === 0) return { detail: 'nothing outstanding', input };
    const reason = `Waiting for ${waits.slice(0, 3).join(', ')}${waits.length > 3 ? ', …' : ''}`;
    return { detail: reason, input, ruling: allow('continue', 'waiting', reason) };
  },

  retries: ({ worker, attempt }) => {
    const { retries, onCap } = attempt.inForce.policy;
    const input = { count: worker.retryCount, max: retries };
    const detail = retries === null ? `${worker.retryCount}, no cap` : `${worker.retryCount} of ${retries}`;
    if (retries === null || worker.retryCount < retries) return { detail, input };
    const reason = `Blocked ${worker.retryCount} times, the most that the policy allows: the work was not judged complete`;
    return { detail, input, ruling: allow(onCap === 'escalate' ? 'escalate' : 'complete', 'capped', reason) };
  },

  promise: ({ attempt }) => {
    if (!attempt.inForce.policy.promises) return { detail: 'promises are not read', input: {} };
    const found = promisesOf(attempt.fields);
    const input = { promises: [...found] };
    const name = found.has('ESCALATE') ? 'ESCALATE' : found.has('BLOCKED') ? 'BLOCKED' : null;
    if (name === null) return { detail: found.has('COMPLETE') ? 'COMPLETE: the checks still run' : 'none', input };
    const said = saidBeside(attempt.fields.output ?? '', name);
    const reason = `The agent asked for a person: <promise>${name}</promise>${said === '' ? '' : ` ${said}`}`;
    return { detail: name, input, ruling: allow('escalate', 'escalated', reason) };
  },

  checks: (question) => {
    const { worker, attempt } = question;
    const { checks } = attempt.inForce.policy;
    const input = { checks: checks.map((check) => check.name) };
    if (checks.length === 0) return { detail: 'none', input };
    const facts = { ...circumstances(question), plan: worker.plan, validation: attempt.fields.validation ?? [] };
    const { outcome, findings, feedback } = evaluateChecks(checks, facts, attempt.findings);
    const shared = { input, findings, feedback };
    switch (outcome.kind) {
      case 'pass':
        return { ...shared, detail: 'all hold' };
      case 'error':
        return { ...shared, detail: outcome.message, errs: true };
      case 'escalate':
        return {
          ...shared,
          detail: outcome.message,
          errs: true,
          ruling: allow('escalate', 'escalated', outcome.message),
        };
      case 'fail': {
        const nextPrompt = promptFor(outcome.message, feedback);
        return { ...shared, detail: outcome.message, ruling: block('incomplete', outcome.message, nextPrompt) };
      }
      case 'pending': {
        const { check } = outcome;
        const timeoutMs = check.timeoutMs ?? checkTimeoutMs;
        return {
          ...shared,
          detail: `asked ${check.name}`,
          ask: { by: 'checks', check, ...nextAsk(question, check.name, timeoutMs) },
        };
      }
    }
  },

  hooks: (question) => {
    const { facts } = question;
    const hooks = facts.task?.hooks ?? [];
    if (hooks.length === 0) return { detail: 'none', input: {} };
    const input = { task: facts.task?.task ?? null, hooks: hooks.filter((it) => it.enabled).map((it) => it.hook) };
    const answer = askHooks(hooks, hookFacts(question), resultsOf(question));
    if (answer.is === 'ask') {
      const { key, name } = answer;
      const ask: Ask = {
        by: 'hooks',
        key: `${input.task}:${key}`,
        remote: name,
        ...nextAsk(question, name, checkTimeoutMs),
      };
      return { detail: `asked ${name}`, input, ask };
    }
    const { opinions } = answer;
    const looked = { input: { ...input, said: opinions.map(sayingOf) }, opinions };
    if (answer.is === 'silent') return { detail: 'none has a say', ...looked };
    const { hookId, action, reason, metadata } = answer;
    const detail = `${hookId}: ${action} (${reason})`;
    const checkpoint = answer.checkpoint ? { checkpoint: { data: answer.checkpointData } } : {};
    const shared = { detail, ...looked, ...checkpoint };
    if (action === 'complete') return shared;
    if (action === 'escalate') return { ...shared, ruling: allow('escalate', 'escalated', reason) };
    const feedback: Feedback[] = [{ check: hookId, outcome: 'fail', message: reason, details: metadata }];
    return {
      ...shared,
      feedback,
      ruling: block('incomplete', reason, answer.nextPrompt ?? promptFor(reason, feedback)),
    };
  },

  // Asked by `judge` before a block of checks or hooks is given; listed only when it decides.
  stuck: ({ worker, attempt }) => {
    const { stuckAfter } = attempt.inForce.policy;
    const count = (worker.stuck?.count ?? 0) + 1;
    const reason = `Stuck: blocked ${count} times in the same words`;
    return { detail: reason, input: { count, max: stuckAfter }, ruling: allow('escalate', 'stuck', reason) };
  },

  pending: ({ worker, attempt, facts }) => {
    const input = { queue: facts.queue, pendingTasks: facts.pendingTasks };
    if (attempt.inForce.policy.persistence === null) return { detail: 'persistence is off', input };
    if (facts.pendingTasks === 0) return { detail: `queue ${facts.queue} is empty`, input };
    const count = facts.pendingTasks === 1 ? '1 task waits' : `${facts.pendingTasks} tasks wait`;
    const reason = `${count} in queue ${facts.queue}`;
    const nextPrompt = `${reason}. ${letGoFirst(worker)}Claim the next task and work on it.`;
    return { detail: reason, input, ruling: keepAlive(worker, attempt, block('pending-tasks', reason, nextPrompt)) };
  },

  idle: ({ worker, attempt, facts }) => {
    if (attempt.inForce.policy.persistence === null) return { detail: 'persistence is off', input: {} };
    const idle = idleOf(worker, attempt.idleLimitMs, facts.nowMs);
    const input = { ...idle };
    if (idle.limitMs !== null && idle.ms >= idle.limitMs) {
      const reason = `Idle for ${formatDuration(idle.ms)} of ${formatDuration(idle.limitMs)}, and no task waits`;
      return { detail: reason, input, ruling: allow('complete', 'idle-timeout', reason) };
    }
    if (facts.nowMs < attempt.holdUntilMs) return { detail: 'held', input, hold: true };
    const left = idle.remainingMs === null ? 'no timeout' : `${formatDuration(idle.remainingMs)} remain`;
    const held = worker.tasks.length > 0 ? `, and ${worker.tasks.join(', ')} is still held` : '';
    const reason = `No task waits; idle for ${formatDuration(idle.ms)}, ${left}${held}`;
    const nextPrompt =
      worker.tasks.length > 0
        ? `You still hold ${worker.tasks.join(', ')}. Complete or release it before you stop.`
        : `No task waits in queue ${facts.queue} yet. Stay available and look again.`;
    return { detail: reason, input, ruling: keepAlive(worker, attempt, block('idle', reason, nextPrompt)) };
  },

  done: ({ attempt, facts }) => {
    const hooks = facts.task?.hooks.some((it) => it.enabled) ?? false;
    const judged = attempt.inForce.policy.checks.length > 0 || hooks;
    const input = { checks: attempt.inForce.policy.checks.length, hooks };
    // A check in error that its `onError` lets pass is said, so that nobody takes it for a yes.
    const error = attempt.verdicts.find((it) => it.guard === 'checks' && it.verdict === 'error');
    const reason =
      error === undefined
        ? 'Everything that was asked for is done'
        : `Allowed, though a check could not be judged: ${error.detail}`;
    return judged
      ? {
          detail: error === undefined ? 'all done' : 'a check could not be judged',
          input,
          ruling: allow('complete', 'complete', reason),
        }
      : {
          detail: 'nothing to check',
          input,
          ruling: allow('complete', 'no-policy', 'No check or hook was set for this stop'),
        };
  },
};

export type Judgement = {
  /** How far the attempt has come; it is still open where `ruling` is null. */
  readonly attempt: Attempt;
  readonly ruling: (Ruling & { readonly guard: GuardName }) | null;
  /** The row of equal failures, where checks or hooks would block. */
  readonly stuck: Judged['stuck'];
};

const order = Object.keys(guards) as GuardName[];

/** Asks the guards from where the attempt stood, up to the first that speaks or has to wait. */
export function judge(worker: Judged, from: Attempt, facts: Facts): Judgement {
  // One copy for the whole way; the guards read it as it grows.
  const attempt: Progress = { ...from, verdicts: from.verdicts.slice() };
  if (from.holding) resumeHeld(attempt);
  for (let index = order.indexOf(attempt.guard); index < order.length; index += 1) {
    const name = order[index] as GuardName;
    if (name === 'stuck') continue;
    const startedMs = facts.stopwatch();
    const opinion = guards[name]({ worker, attempt, facts });
    const tookMs = tookOf(attempt, name, facts, startedMs);
    learn(attempt, name, opinion);
    if (opinion.ask !== undefined || opinion.hold) return { attempt, ruling: null, stuck: worker.stuck };
    attempt.verdicts.push(verdictOf(name, opinion, tookMs));
    if (opinion.ruling === undefined) continue;
    if ((name === 'checks' || name === 'hooks') && opinion.ruling.decision === 'block') {
      return blockOrStuck(worker, attempt, facts, name, opinion.ruling);
    }
    return { attempt, ruling: { guard: name, ...opinion.ruling }, stuck: worker.stuck };
  }
  throw new Error('guard "done" always speaks');
}

type Progress = { -readonly [Key in keyof Attempt]: Attempt[Key] } & { verdicts: Verdict[] };

function blockOrStuck(worker: Judged, attempt: Progress, facts: Facts, name: GuardName, ruling: Ruling): Judgement {
  const same = worker.stuck?.words === ruling.reason;
  const stuck = { words: ruling.reason, count: same ? (worker.stuck?.count ?? 0) + 1 : 1 };
  const { stuckAfter } = attempt.inForce.policy;
  if (stuckAfter === null || stuck.count < stuckAfter) return { attempt, ruling: { guard: name, ...ruling }, stuck };
  const opinion = guards.stuck({ worker: { ...worker, stuck: same ? worker.stuck : null }, attempt, facts });
  attempt.verdicts.push(verdictOf('stuck', opinion, 0));
  return { attempt, ruling: { guard: 'stuck', ...(opinion.ruling as Ruling) }, stuck };
}

function learn(attempt: Progress, guard: GuardName, opinion: Opinion): void {
  attempt.guard = guard;
  attempt.asked = opinion.ask ?? null;
  attempt.asks = opinion.ask?.number ?? attempt.asks;
  attempt.holding = opinion.hold ?? false;
  attempt.passed ||= guard === 'pending';
  if (opinion.findings !== undefined) attempt.findings = opinion.findings;
  if (opinion.checkpoint !== undefined) attempt.checkpoint = opinion.checkpoint;
  if (opinion.opinions !== undefined) attempt.opinions = opinion.opinions;
  // Checks report all their feedback each time they are asked; hooks come after them.
  if (opinion.feedback !== undefined)
    attempt.feedback = guard === 'checks' ? opinion.feedback : [...attempt.feedback, ...opinion.feedback];
}

/** A held attempt sees the tasks of the moment first, then the clock. */
function resumeHeld(attempt: Progress): void {
  attempt.guard = 'pending';
  attempt.verdicts = attempt.verdicts.filter((it) => it.guard !== 'pending');
}

function verdictOf(guard: GuardName, opinion: Opinion, tookMs: number): Verdict {
  const verdict = opinion.errs ? 'error' : (opinion.ruling?.decision ?? 'pass');
  return { guard, verdict, detail: opinion.detail, input: opinion.input, tookMs };
}

function tookOf(attempt: Attempt, guard: GuardName, facts: Facts, startedMs: number): number {
  const waited = attempt.asked?.by === guard ? facts.nowMs - attempt.asked.askedMs : 0;
  return waited + Math.round((facts.stopwatch() - startedMs) * 1_000) / 1_000;
}

function nextAsk({ attempt, facts }: Question, name: string, timeoutMs: number) {
  return { number: attempt.asks + 1, name, askedMs: facts.nowMs, deadlineMs: facts.nowMs + timeoutMs };
}

/** Idle time counts from the last registration, claim or letting go, and not while a task is held (seed 004). */
export function idleOf(worker: Pick<Judged, 'tasks' | 'activeMs'>, limitMs: number | null, nowMs: number): Idle {
  const ms = worker.tasks.length > 0 ? 0 : Math.max(0, nowMs - worker.activeMs);
  return { ms, limitMs, remainingMs: limitMs === null ? null : Math.max(0, limitMs - ms) };
}

function circumstances({ worker, attempt, facts }: Question) {
  const said = attempt.fields.files ?? [];
  return {
    iteration: facts.task?.iteration?.iteration ?? 0,
    phase: facts.task?.phase ?? null,
    files: said.length === 0 ? worker.files : [...new Set([...worker.files, ...said])],
    labels: worker.labels,
  };
}

/** What a person is asked stands beside the promise: the end of the output, in one line. */
const saidBeside = (output: string, name: PromiseName): string =>
  output
    .slice(-4_000)
    .replaceAll(new RegExp(`<promise>\\s*${name}\\s*</promise>`, 'g'), ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(-300);

const sayingOf = ({ hook, action, reason }: HookOpinion) => ({ hook, action, reason: cutMiddle(reason, 200) });

function hookFacts(question: Question) {
  const { attempt, facts } = question;
  const validation = attempt.fields.validation ?? [];
  return {
    ...circumstances(question),
    promises: promisesOf(attempt.fields),
    validation,
    current: facts.task?.iteration ?? null,
  };
}

/** A worker may claim another task while a hook is asked, and hooks are named within their task. */
function resultsOf({ attempt, facts }: Question): HookResults {
  const place = `${facts.task?.task ?? null}:`;
  return Object.fromEntries(
    Object.entries(attempt.hookResults)
      .filter(([key]) => key.startsWith(place))
      .map(([key, result]) => [key.slice(place.length), result]),
  );
}

/** Blocks that only keep a worker alive count apart, and their cap lets it go. */
function keepAlive(worker: Judged, attempt: Attempt, ruling: Ruling): Ruling {
  const max = attempt.inForce.policy.keepAlives;
  if (max === null || worker.keepAlives < max) return ruling;
  return allow('complete', 'capped', `Kept alive ${worker.keepAlives} times, the most that the policy allows`);
}

const letGoFirst = (worker: Judged) =>
  worker.tasks.length > 0 ? `You still hold ${worker.tasks.join(', ')}: complete or release it first. ` : '';

const promptLengthMax = 2_000;

/** Written for a model: what remains and what was found, the same words for the same state. */
function promptFor(reason: string, feedback: readonly Feedback[]): string {
  const found = feedback
    .map(({ details }) =>
      typeof details === 'string' ? details : isEmpty(details) ? '' : JSON.stringify(details, null, 1),
    )
    .filter((text) => text !== '');
  const head = `Not done yet: ${cutMiddle(reason, 600)}. Finish what remains, then stop again.`;
  if (found.length === 0) return head;
  return `${head}\n\n${cutMiddle(found.join('\n'), promptLengthMax - head.length - 2)}`;
}

const isEmpty = (details: unknown) =>
  details === null || details === undefined || (typeof details === 'object' && Object.keys(details).length === 0);

function cutMiddle(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  const half = Math.floor((lengthMax - 5) / 2);
  return `${text.slice(0, half)}\n[…]${text.slice(text.length - half)}`;
}

const allow = (action: Ruling['action'], cause: Ruling['cause'], reason: string): Ruling => ({
  decision: 'allow',
  action,
  cause,
  reason,
  nextPrompt: null,
});
const block = (cause: Ruling['cause'], reason: string, nextPrompt: string): Ruling => ({
  decision: 'block',
  action: 'continue',
  cause,
  reason,
  nextPrompt,
});
