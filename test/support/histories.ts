/**
 * Histories: short logs written by a real service, one per feature (test/logs/histories), and their folds as readable
 * text.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createReplay,
  type Decision,
  type FleetView,
  personWaitsOfQueue,
  personWaitsOfTask,
  personWaitsOfWorker,
  type QueueView,
  type ReplayLine,
  type TaskView,
  type UsageView,
  type WorkerView,
} from '../../machines/index.ts';
import { root } from './markdown.ts';

const folder = join(root, 'test/logs/histories');
export const historyFile = (name: string) => join(folder, `${name}.jsonl`);
export const expectationFile = (name: string) => join(folder, `${name}.txt`);

export const historyNames = (): string[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.jsonl'))
    .map((file) => file.slice(0, -'.jsonl'.length));

export const readHistory = (name: string): string[] => readFileSync(historyFile(name), 'utf8').trimEnd().split('\n');

/** Folds a history. Times are milliseconds since its first entry. @throws Error if its rules version is unknown */
export function foldHistory(lines: readonly string[]): string {
  const replay = createReplay();
  const refused = lines.flatMap((line, index) => {
    const why = replay.fold(line);
    // V8's messages about JSON depend on its version, and the list of all types grows.
    return why === null ? [] : [`line ${index + 1}: ${why.replace(/(not JSON|about a worker)[:;] .*/, '$1')}`];
  });
  const answers = [...replay.take(), ...replay.open()];
  const fault = replay.fault();
  if (fault !== null) throw new Error(fault);
  const { main } = replay.view().fleets;
  if (main === undefined) throw new Error('the log says nothing about the fleet main');
  const firstMs = Date.parse((JSON.parse(lines[0] ?? '{}') as { at: string }).at);
  const parts = [
    ['Answers', answers.map(describeAnswer)],
    ['Refused', [...refused, ...refusedIn(main)]],
    ['Workers', Object.values(main.workers).map(describeWorker)],
    ['Tasks', Object.values(main.tasks).map(describeTask)],
    ['Queues', Object.values(main.queues).map(describeQueue)],
    ['Waits for a person', waitsIn(main)],
  ] as const;
  const text = parts.map(
    ([title, items]) => `${title}\n${(items.length === 0 ? ['-'] : items).map((it) => `  ${it}\n`).join('')}`,
  );
  return text.join('\n').replaceAll(isoTime, (time) => `+${Date.parse(time) - firstMs}`);
}

const isoTime = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;

function describeAnswer(line: ReplayLine): string {
  if ('taskId' in line) return `${line.taskId} ${line.attempt}: ${line.action}${'hookId' in line ? ofHooks(line) : ''}`;
  if (line.decision === null) return `#${line.seq} ${line.worker} ${line.attempt}: open, waits for ${line.waitsFor}`;
  const { seq, worker, attempt, decision, action, cause, tasks, retry, keepAlives, idle, pendingTasks, policy } = line;
  const counts = [
    `retry ${retry.count}/${retry.max}`,
    `keep-alives ${keepAlives.count}/${keepAlives.max}`,
    `idle ${idle.ms}/${idle.limitMs}`,
    `${pendingTasks} pending`,
    `policy ${policy.name}@${policy.seq}`,
    ...(tasks.length === 0 ? [] : [`tasks ${tasks.join(' ')}`]),
  ];
  const guards = line.verdicts.map(({ guard, verdict }) => `${guard} ${verdict}`).join(', ');
  return [
    `#${seq} ${worker} ${attempt}: ${decision}, ${action}, ${cause} -> ${line.state}; ${counts.join(', ')}`,
    `    ${guards}`,
    `    ${line.reason}`,
  ].join('\n  ');
}

const ofHooks = ({ hookId, iteration, reason }: { hookId: string; iteration: number | null; reason: string }) =>
  ` by ${hookId} in iteration ${iteration}: ${reason}`;

/** Refused entries. */
const refusedIn = ({ workers, tasks }: FleetView): string[] =>
  [...Object.entries(workers), ...Object.entries(tasks)].flatMap(([id, { refused }]) =>
    refused.map(({ seq, type, reason }) => `#${seq} ${id} ${type}: ${reason}`),
  );

/** Fields with values, without empty ones. */
const describeFields = (fields: Readonly<Record<string, unknown>>): string =>
  Object.entries(fields)
    .filter(([, value]) => !(value === null || value === false || (typeof value === 'object' && isEmpty(value))))
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
/** Empty if nothing was used. */
const describeUsages = (usages: Readonly<Record<string, UsageView | null>>): string[] =>
  Object.entries(usages).flatMap(([of, it]) =>
    it === null || it.tokens + it.usd + it.turns === 0
      ? []
      : [`${of}: ${it.tokens} tokens, $${it.usd}, ${it.turns} turns`],
  );
const isEmpty = (value: object | null) => value === null || Object.keys(value).length === 0;

function describeWorker(view: WorkerView): string {
  const { worker, state, presence, sentence, retry, keepAlives, plan, usage, idle } = view;
  const { agent, parent, profile, policy, queue, tasks, labels, ended, budgets, calls, background, inputs } = view;
  const { attempt, toolCount, filesModified, lastAnswer, resolution, lastSeen, lastTransition } = view;
  const fields = {
    agent,
    parent,
    profile,
    policy,
    queue,
    tasks,
    labels,
    ended,
    retry: `${retry.count}/${retry.max}`,
    keepAlives,
    idle: `${idle.ms}/${idle.limitMs}`,
    toolCount,
    filesModified,
    plan: plan.map(({ step, title, status, task }) => [task, step, title, status].filter(Boolean).join(' ')),
    usage: describeUsages(usage),
    budgets,
    calls,
    background,
    inputs,
    lastAnswer,
    resolution,
    attempt: attempt && { ...attempt },
    lastSeen,
    lastTransition,
  };
  return `${worker}: ${state}, ${presence}. ${sentence}\n      ${describeFields(fields)}`;
}

function describeTask(view: TaskView): string {
  const { task, state, sentence, title, worker, queue, policy, after, priority, outcome, judged, usage } = view;
  const { iteration, maxIterations, phase, hooks, hookStats, plan, checkpoints, lastTransition } = view;
  const fields = {
    title,
    worker,
    queue,
    policy,
    after,
    priority,
    outcome,
    judged,
    iteration,
    maxIterations,
    phase,
    hooks: hooks.map(({ hook, type, enabled }) => `${hook} ${type}${enabled ? '' : ' off'}`),
    hookStats,
    plan: plan?.map(({ title: step, status }) => `${step} ${status}`) ?? null,
    usage: describeUsages({ usage }),
    checkpoints,
    lastTransition,
  };
  return `${task}: ${state}. ${sentence}\n      ${describeFields(fields)}`;
}

const describeQueue = ({ queue, ...fields }: QueueView): string => `${queue}: ${describeFields(fields)}`;

function waitsIn({ workers, tasks, queues }: FleetView): string[] {
  const waits = [
    ...Object.values(workers).flatMap(personWaitsOfWorker),
    ...Object.values(tasks).flatMap(personWaitsOfTask),
    ...Object.values(queues).flatMap(personWaitsOfQueue),
  ];
  return waits.map(({ entity, id, kind, sentence: _, ...rest }) => `${entity} ${id}, ${kind}: ${describeFields(rest)}`);
}

/** Decisions stored by the service during the recording. */
export const storedDecisions = (lines: readonly string[]): Decision[] =>
  lines
    .map((line) => JSON.parse(line) as { subject: string; data: Decision })
    .filter(({ subject }) => subject.startsWith('stopgate.main.decision.'))
    .map(({ data }) => data);

/** A decision without its texts and without values that depend on the machine. */
export function judgementOf({
  reason: _,
  nextPrompt: __,
  feedback: ___,
  replica: ____,
  tookMs: _____,
  ...decision
}: Decision) {
  return { ...decision, verdicts: decision.verdicts.map(({ guard, verdict }) => `${guard} ${verdict}`) };
}

/** Decisions are stored after a delay, and those of different workers in any order. */
export function inOrderOf(decided: readonly Decision[], stored: readonly Decision[]): Decision[] {
  const place = ({ worker, attempt, seq }: Decision) =>
    decided.findIndex((it) => it.worker === worker && it.attempt === attempt && it.seq === seq);
  return [...stored].sort((a, b) => place(a) - place(b));
}
