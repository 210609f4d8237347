/**
 * A decision in two parts: what is specific to this worker, and a template of everything else (cause, reason, verdicts,
 * policy), which is the same for thousands of workers. A template is stored once, however many decisions use it.
 */
import type { Decision, Verdict } from '../../guards/decision.ts';
import { formatIsoTime, parseIsoTime } from '../../values/time.ts';
import { judgeAs } from './shapes.ts';

type Own = 'worker' | 'task' | 'tasks' | 'attempt' | 'seq' | 'at' | 'retry' | 'keepAlives' | 'idle' | 'pendingTasks';
export type DecisionTemplate = Omit<Decision, Own> & {
  readonly retryMax: number | null;
  readonly keepAlivesMax: number | null;
  readonly limitMs: number | null;
};

/** `task`: the only held one, null for none, else all. `at`: milliseconds since `fromMs`; the text itself where it is written in another way than ours. */
export type OwnDecision = readonly [
  attempt: string | null,
  seq: number | null,
  at: number | string,
  task: string | null | readonly string[],
  retryCount: number,
  keepAlivesCount: number,
  idleMs: number,
  remainingMs: number | null,
  pendingTasks: number,
];

export function ownPartOf(decision: Decision, fromMs: number): OwnDecision {
  const { attempt, seq, at, task, tasks, retry, keepAlives, idle, pendingTasks } = decision;
  const atMs = parseIsoTime(at);
  const time = atMs !== null && formatIsoTime(atMs) === at ? atMs - fromMs : at;
  const held = task === null || (tasks.length === 1 && tasks[0] === task) ? task : tasks;
  return [attempt, seq, time, held, retry.count, keepAlives.count, idle.ms, idle.remainingMs, pendingTasks];
}

/** Joins the parts in the order of a decision's fields, which is that of its JSON. */
export function joinDecision(worker: string, own: OwnDecision, template: DecisionTemplate, fromMs: number): Decision {
  const [attempt, seq, at, held, retryCount, keepAlivesCount, idleMs, remainingMs, pendingTasks] = own;
  // Field by field: with spreads V8 makes a dictionary of it, of 11 KB.
  return {
    v: template.v,
    fleet: template.fleet,
    worker,
    task: typeof held === 'string' || held === null ? held : (held.at(-1) ?? null),
    tasks: typeof held === 'string' ? [held] : [...(held ?? [])],
    attempt,
    seq,
    at: typeof at === 'number' ? formatIsoTime(at + fromMs) : at,
    decision: template.decision,
    action: template.action,
    cause: template.cause,
    reason: template.reason,
    nextPrompt: template.nextPrompt,
    feedback: template.feedback,
    state: template.state,
    retry: { count: retryCount, max: template.retryMax },
    keepAlives: { count: keepAlivesCount, max: template.keepAlivesMax },
    idle: { ms: idleMs, limitMs: template.limitMs, remainingMs },
    pendingTasks,
    policy: template.policy,
    verdicts: template.verdicts,
    replica: template.replica,
    tookMs: template.tookMs,
    dryRun: template.dryRun,
  };
}

const templates = new Map<string, DecisionTemplate>();
/** Each has about 1.5 KB. Templates that are still in use survive when the table is emptied. */
const templatesMax = 1_000;
const texts = new WeakMap<DecisionTemplate, string>();

/** The template of the last decision by reason: nearly always the next one has the same. */
const lastByReason = new Map<string, DecisionTemplate>();

/** The template of a decision: nearly always the same object for equal ones. */
export function templateOf(decision: Decision): DecisionTemplate {
  const last = lastByReason.get(decision.reason);
  if (last !== undefined && isMadeOf(decision, last)) return last;
  const made = makeTemplate(decision);
  const text = JSON.stringify(made);
  const template = templates.get(text) ?? keep(text, made);
  if (lastByReason.size >= templatesMax) lastByReason.clear();
  lastByReason.set(decision.reason, template);
  return template;
}

/** Compares without making the text, which has 1 KB. False may also mean that it was not compared completely. */
function isMadeOf(decision: Decision, it: DecisionTemplate): boolean {
  const { retry, keepAlives, idle, policy, feedback, verdicts } = decision;
  return (
    it.cause === decision.cause &&
    it.decision === decision.decision &&
    it.action === decision.action &&
    it.state === decision.state &&
    it.reason === decision.reason &&
    it.nextPrompt === decision.nextPrompt &&
    it.retryMax === retry.max &&
    it.keepAlivesMax === keepAlives.max &&
    it.limitMs === idle.limitMs &&
    it.policy.seq === policy.seq &&
    it.policy.name === policy.name &&
    it.fleet === decision.fleet &&
    it.replica === decision.replica &&
    it.tookMs === decision.tookMs &&
    it.dryRun === decision.dryRun &&
    it.feedback.length + feedback.length === 0 &&
    it.verdicts.length === verdicts.length &&
    verdicts.every((verdict, index) => isSameVerdict(verdict, it.verdicts[index] as Verdict))
  );
}

const isSameVerdict = (a: Verdict, b: Verdict): boolean =>
  a === b ||
  (a.guard === b.guard &&
    a.verdict === b.verdict &&
    a.detail === b.detail &&
    a.tookMs === b.tookMs &&
    JSON.stringify(a.input) === JSON.stringify(b.input));

/** @throws Error: it is none */
export function readTemplate(text: string): DecisionTemplate {
  const known = templates.get(text);
  if (known !== undefined) return known;
  const template = JSON.parse(text) as DecisionTemplate;
  judgeAs('template', template);
  return keep(text, template);
}

/** Equal templates have equal texts. */
export const textOfTemplate = (template: DecisionTemplate): string =>
  texts.get(template) ?? note(template, JSON.stringify(template));

export function makeTemplate(decision: Decision): DecisionTemplate {
  const { v, fleet, action, cause, reason, nextPrompt, feedback, state } = decision;
  const { policy, verdicts, replica, tookMs, dryRun } = decision;
  return {
    v,
    fleet,
    decision: decision.decision,
    action,
    cause,
    reason,
    nextPrompt,
    feedback,
    state,
    retryMax: decision.retry.max,
    keepAlivesMax: decision.keepAlives.max,
    limitMs: decision.idle.limitMs,
    policy,
    verdicts,
    replica,
    tookMs,
    dryRun,
  };
}

function keep(text: string, template: DecisionTemplate): DecisionTemplate {
  if (templates.size >= templatesMax) templates.clear();
  templates.set(text, template);
  note(template, text);
  return template;
}

function note(template: DecisionTemplate, text: string): string {
  texts.set(template, text);
  return text;
}
