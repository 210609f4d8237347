/** Formats all details of one worker or task for people. */
import {
  type Decision,
  describeLine,
  type Escalation,
  type InputRequest,
  type TaskView,
  type Wait,
  type WorkerView,
} from '../../../machines/index.ts';
import { isDone, type Plan } from '../../../machines/policy/plan.ts';
import { isForPerson } from '../../../machines/replay/standing.ts';
import { describeAmounts } from '../../../machines/values/amounts.ts';
import { describeQuestions, readQuestions } from '../../../machines/values/questions.ts';
import type { LogLine } from '../../nats/log/log-line.ts';
import { formatTable, type Row } from '../../terminal/table.ts';
import { type Colors, clean, cut, formatCount } from '../../terminal/text.ts';
import { formatDecision, formatIdle } from './decision-text.ts';
import { formatAgo, formatClock, formatUsed, paintPresence, paintState } from './state-text.ts';
import { formatTimeline } from './timeline.ts';

const stepsMax = 50;

/** `permission Bash make deploy (request r1)` */
export function describeInput({ kind, tool, message, detail, request }: InputRequest): string {
  const questions = readQuestions(detail);
  const asked = questions === null ? [tool, message, detail] : [describeQuestions(questions)];
  const what = [kind, ...asked].filter((part) => part !== null).join(' ') || "a person's answer";
  return request === null ? `${what} (at its own terminal)` : `${what} (request ${request})`;
}

/** Lists what a worker waits for, one line each. Shows its requests in full, since they may be answered from there. */
export const describeWaits = ({ standing, inputs }: WorkerView, nowMs: number): string[] => [
  ...standing.waits.filter(({ kind }) => kind === 'escalation').map((wait) => describeWait(wait, nowMs)),
  ...inputs.map((input) => `asks: ${describeInput(input)}`),
  ...standing.waits.filter((wait) => !isForPerson(wait)).map((wait) => describeWait(wait, nowMs)),
];

function describeWait({ kind, whom, text, since }: Wait, nowMs: number): string {
  const ago = since === null ? '' : formatAgo(since, nowMs);
  if (kind === 'escalation') return `escalated ${ago}: ${text}`;
  return `waits for ${whom}${ago === '' ? '' : ` (${ago})`}: ${text}`;
}

/** What the log has about an actor. `prompt` is the newest prompt of a worker, and null for a task. */
type ActorLog = { readonly timeline: readonly LogLine[]; readonly prompt: string | null };

export function formatWorker(
  view: WorkerView,
  { timeline, prompt }: ActorLog,
  colors: Colors,
  width: number,
): string[] {
  const { retry, tasks, attempt, lastDecision, labels } = view;
  const labelled = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const facts: Fact[] = [
    ['agent', view.agent],
    ['paused', view.paused === null ? null : describePaused(view.paused)],
    ['person', view.interactive === false ? 'nobody is at the session' : null],
    ['profile', view.profile],
    ['parent', view.parent],
    ['folder', view.cwd],
    ['prompt', prompt],
    ['labels', labelled.join(', ') || null],
    ['policy', view.policy],
    ['queue', view.queue],
    ['tasks', tasks.join(', ') || 'none'],
    ['retries', `${retry.count} of ${retry.max ?? 'any number'}`],
    ['kept alive', view.keepAlives === 0 ? null : formatCount(view.keepAlives, 'time')],
    ['idle', formatIdle(view.idle)],
    ['last seen', `${formatAgo(view.lastSeen)}, ${view.lastSeen}`],
    ['work', `${formatCount(view.toolCount, 'tool call')}, ${describeFiles(view.filesModified)}`],
    ['used', formatUsed(view.usage.session)],
    ...view.budgets.map((line): Fact => ['budget', `${describeLine(line)} per ${line.per}`]),
    ...view.background.map((work): Fact => ['background', describeWork(work)]),
    ...escalationFacts(view.escalation),
    ['resolved', view.resolution === null ? null : formatResolution(view.resolution)],
    ...view.inputs.map((input): Fact => ['asks', describeInput(input)]),
    ...standingFacts(view),
  ];
  return [
    formatHead(view.worker, view.state, colors) +
      colors.dim(' · ') +
      paintPresence(view.presence, colors)(view.presence),
    ...formatFacts(facts, width),
    ...formatPlan(view.plan, colors, width),
    ...(attempt === null ? [] : ['', colors.bold('open attempt'), ...formatAttempt(attempt, width)]),
    ...(lastDecision === null ? [] : formatLastDecision(lastDecision, colors, width)),
    ...formatRefused(view.refused, colors, width),
    ...titled('timeline', formatTimeline(timeline, { entity: 'worker', id: view.worker }, colors, width - 2), colors),
  ];
}

const formatLastDecision = (decision: Decision, colors: Colors, width: number): string[] => [
  '',
  `${colors.bold('last decision')} ${colors.dim(`${formatAgo(decision.at)}, ${decision.at}`)}`,
  ...formatDecision(decision, colors, width - 2).map((line) => `  ${line}`.trimEnd()),
];

const describeFiles = ({ count: files, unknown }: WorkerView['filesModified']): string =>
  `${formatCount(files, 'file')} modified${unknown ? ', possibly more' : ''}`;

/** `npm run dev (b1), since 12:00, ignored` */
function describeWork({ id, kind, command, since, until, ignored }: WorkerView['background'][number]): string {
  const name = command ?? kind;
  const waited = ignored ? 'ignored' : until === null ? 'waited for' : `waited for until ${until}`;
  return `${name === null ? id : `${name} (${id})`}, since ${since}, ${waited}`;
}

/** `by ann until 2026-03-02T12:30:00.000Z` */
export const describePaused = ({ by, until }: NonNullable<WorkerView['paused']>): string =>
  `by ${by} until ${until ?? 'its session ends'}`;

export function formatTask(view: TaskView, { timeline }: ActorLog, colors: Colors, width: number): string[] {
  const { iteration, maxIterations, checkpoints } = view;
  const facts: Fact[] = [
    ['title', view.title],
    ['worker', view.worker ?? 'none'],
    ['queue', view.queue ?? 'none: not offered to workers'],
    ['policy', view.policy],
    ['after', view.after.join(', ') || null],
    ['outcome', view.outcome],
    ...escalationFacts(view.escalation),
    ...standingFacts(view),
    ['used', formatUsed(view.usage)],
    ['iteration', iteration === null ? null : `${iteration} of ${maxIterations ?? 'any number'}`],
    ['phase', view.phase],
  ];
  const saved = checkpoints.map(({ checkpoint, at, phase, step }) => [
    { text: checkpoint },
    { text: at, paint: colors.dim },
    { text: [phase, step].filter((part) => part !== null).join(' ') },
  ]);
  return [
    formatHead(view.task, view.state, colors),
    ...formatFacts(facts, width),
    ...formatPlan(view.plan ?? [], colors, width),
    ...titled('hooks', formatTable([], hookRows(view, colors), width - 2), colors),
    ...titled('checkpoints', formatTable([], saved, width - 2), colors),
    ...formatRefused(view.refused, colors, width),
    ...titled('timeline', formatTimeline(timeline, { entity: 'task', id: view.task }, colors, width - 2), colors),
  ];
}

/** Lists the registered hooks, then removed hooks that were evaluated, each with its counts and last result. */
function hookRows({ hooks, hookStats }: TaskView, colors: Colors): Row[] {
  const stats = new Map(hookStats.map((each) => [each.hook, each]));
  const removed = hookStats.filter(({ hook }) => !hooks.some((each) => each.hook === hook));
  const all = [
    ...hooks.map(({ hook, type, enabled }) => ({ hook, type, state: enabled ? 'on' : 'off' })),
    ...removed.map(({ hook, type }) => ({ hook, type, state: 'removed' })),
  ];
  return all.map(({ hook, type, state }) => {
    const known = stats.get(hook);
    const start = [{ text: hook }, { text: type }, { text: state }];
    if (known === undefined) return start;
    const results = (['complete', 'continue', 'escalate', 'skip', 'errors'] as const).filter((each) => known[each] > 0);
    const counts = `evaluated ${formatCount(known.asked, 'time')}: ${results.map((each) => `${known[each]} ${each}`).join(', ')}`;
    const last = `${formatAgo(known.last.at)} ${known.last.action}: ${known.last.reason}`;
    return [...start, { text: counts }, { text: last, paint: colors.dim }];
  });
}

type Fact = readonly [name: string, value: string | null];

function escalationFacts(escalation: Escalation | null): Fact[] {
  if (escalation === null) return [];
  const { since, reason, acknowledgedBy, acknowledgedAt } = escalation;
  return [
    ['escalated', `${formatAgo(since)}, ${since}: ${reason}`],
    [
      'acknowledged',
      acknowledgedBy === null ? 'by nobody' : `by ${acknowledgedBy}, ${formatAgo(acknowledgedAt ?? since)}`,
    ],
  ];
}

/** Why the actor may not stop yet, or why it was allowed to. */
const standingFacts = ({
  sentence,
  standing: { missing, note },
}: Pick<WorkerView, 'sentence' | 'standing'>): Fact[] => [
  ['in short', sentence],
  ...missing.map((text): Fact => ['needs', text]),
  ['note', note],
];

const formatResolution = ({ at, by, verdict, prompt, granted }: NonNullable<WorkerView['resolution']>): string =>
  `${verdict} by ${by}${granted === undefined ? '' : `, granted ${describeAmounts(granted)}`}, ${formatAgo(at)}${prompt === null ? '' : `: ${prompt}`}`;

const formatHead = (id: string, state: WorkerView['state'], colors: Colors): string =>
  `${colors.bold(clean(id))}${colors.dim(' · ')}${paintState(state, colors)(clean(state))}`;

function formatFacts(facts: readonly Fact[], width: number): string[] {
  const known = facts.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
  const left = Math.max(...known.map(([name]) => name.length));
  return known.map(([name, value]) => cut(`  ${name.padEnd(left)}  ${clean(value)}`, width));
}

function formatPlan(plan: Plan, colors: Colors, width: number): string[] {
  if (plan.length === 0) return [];
  const hasSeveralTasks = plan.some(({ task }) => task !== plan[0]?.task);
  const shown = plan.slice(0, stepsMax).map((step) => {
    const done = isDone(step);
    const status = done || step.status === 'pending' ? '' : ` (${step.status})`;
    const task = step.task === undefined || !hasSeveralTasks ? '' : ` · ${step.task}`;
    const line = cut(clean(`${done ? '✓' : '☐'} ${step.title}${status}${task}`), width - 2);
    return `  ${done ? colors.green(line) : line}`;
  });
  const more = plan.length - shown.length;
  const done = plan.filter(isDone).length;
  return [
    '',
    `${colors.bold('plan')} ${colors.dim(`${done} of ${plan.length} done`)}`,
    ...shown,
    ...(more > 0 ? [`  … ${more} more`] : []),
  ];
}

function formatAttempt(attempt: NonNullable<WorkerView['attempt']>, width: number): string[] {
  const { until, owner, pending } = attempt;
  return formatFacts(
    [
      ['attempt', `${attempt.attempt} (#${attempt.seq})`],
      ['waits for', attempt.waitsFor],
      ['pending', pending === null ? null : clean(pending.reason ?? 'no result yet')],
      ['next try', pending === null ? null : `at ${pending.askedAgainAt}`],
      ['since', `${formatAgo(attempt.since)}, ${attempt.since}`],
      ['until', until],
      ['replica', owner],
    ],
    width,
  );
}

const formatRefused = (refused: WorkerView['refused'], colors: Colors, width: number): string[] =>
  titled(
    'refused entries',
    refused.map(({ at, type, reason }) => cut(`${formatClock(at)}  ${clean(`${type}  ${reason}`)}`, width - 2)),
    colors,
  );

const titled = (title: string, lines: readonly string[], colors: Colors): string[] =>
  lines.length === 0 ? [] : ['', colors.bold(title), ...lines.map((line) => `  ${line}`)];
