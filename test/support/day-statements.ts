/**
 * The sentences that the page would show at a moment of the recorded day: states, ages, counts, holders, reasons and
 * budgets, each with what is wrong with it by the facts, or null. A sentence of an unknown form is wrong: it needs a rule.
 */
import { type Fleet, isHousekeeping, probe, topicOf, viewTask, viewWorker } from '../../machines/index.ts';
import { describeOutcome } from '../../machines/replay/standing.ts';
import { attemptsShown, describePattern, patternOf } from '../../src/inspector/attempt-changes.ts';
import { readAttempts } from '../../src/inspector/attempts.ts';
import { describeBudget } from '../../src/inspector/client/actor/timers.ts';
import { endText } from '../../src/inspector/client/data/entry-pages.ts';
import type { FleetStore } from '../../src/inspector/client/data/fleet-store.ts';
import { figuresOf, noFigures, rankOf, type TaskRow, type WorkerRow } from '../../src/inspector/client/data/rows.ts';
import {
  findWaiting,
  noteOnWorker,
  tasksShownWith,
  taskWaitSinceOf,
  waitSinceOf,
} from '../../src/inspector/client/inbox/find-waiting.ts';
import { directionOf, order, workerKeys } from '../../src/inspector/client/lists/order.ts';
import { passedText } from '../../src/inspector/client/statistics/shares.ts';
import { duration, inLocalTime, usedText } from '../../src/inspector/client/ui/format.ts';
import { createStatistics } from '../../src/inspector/statistics/statistics.ts';
import { timelineEntry } from '../../src/inspector/timeline.ts';
import type { LogMessage } from '../../src/nats/log/log-reader.ts';
import type { Facts, TaskFacts, WorkerFacts } from './day-facts.ts';
import { failures, outputOf } from './recorded-day.ts';

export type Statement = { readonly kind: string; readonly text: string; readonly problem: string | null };
type Moment = { readonly fleet: Fleet; readonly store: FleetStore; readonly facts: Facts };

/** `problem` is what is true instead, or null. */
const say = (kind: string, text: string, problem: string | null): Statement => ({ kind, text, problem });
const equal = (kind: string, text: string, truth: string): Statement => say(kind, text, text === truth ? null : truth);

/** Some statements need the log so far and not only the state of the fleet, so call it rarely. */
export function statementsAt(moment: Moment): Statement[] {
  const { store, facts } = moment;
  const found: Statement[] = [];
  for (const row of store.workers.values()) {
    const worker = facts.workers.get(row.id);
    if (worker === undefined) found.push(say('worker', row.id, 'there is no such worker'));
    else found.push(...aboutWorker(row, worker, moment));
  }
  for (const row of store.tasks.values()) {
    const task = facts.tasks.get(row.id);
    if (task === undefined) found.push(say('task', row.id, 'there is no such task'));
    else found.push(...aboutTask(row, task, moment));
  }
  return [...found, ...aboutQueue(moment), ...aboutInbox(moment), ...aboutOrder(moment)];
}

/** The log must not grow before this is settled. */
export async function statementsOfLog({ facts }: Pick<Moment, 'facts'>): Promise<Statement[]> {
  const attempts = [...facts.workers].map(([id, worker]) => aboutAttempts(id, worker, facts));
  return [...aboutHistory(facts), ...aboutEntries(facts), ...(await Promise.all(attempts)).flat()];
}

function aboutWorker(row: WorkerRow, worker: WorkerFacts, { fleet, facts }: Moment): Statement[] {
  const { id } = row;
  const nowMs = facts.nowMs();
  const view = viewWorker(fleet, id, nowMs);
  if (view === null) return [say('worker', id, 'there is no such worker')];
  const held = [...worker.held.keys()];
  const decided = worker.decisions.at(-1);
  const statements = [
    equal('worker state', `${id} is ${row.state}`, `${id} is ${view.state}`),
    equal(
      'worker holds',
      `${id} holds ${row.task} and ${Math.max(0, row.tasksHeld - 1)} more`,
      `${id} holds ${held.at(-1) ?? null} and ${Math.max(0, held.length - 1)} more`,
    ),
    equal('worker used', `${id} used ${usedText(row)}`, `${id} used ${usedBy(worker)}`),
    say('worker sentence', `${id}: ${row.sentence}`, wrongInSentence(row.sentence, worker, facts)),
    ...view.budgets
      .filter(({ per }) => per === 'session')
      .map((line) => equal('budget', `${id}: ${describeBudget(line, view.usage)}`, `${id}: ${budgetOf(worker, line)}`)),
  ];
  if (worker.movedMs !== null && row.state !== 'validating' && row.state !== 'working')
    statements.push(age('worker age', `${id} is ${row.state}`, row.sinceMs, worker.movedMs, nowMs));
  if (worker.escalation !== null)
    statements.push(age('wait age', `${id} waits`, waitSinceOf(row), worker.escalation.sinceMs, nowMs));
  if (decided !== undefined) {
    const { text, isDry } = outcomeOfProbe(fleet, id, nowMs);
    if (isDry)
      statements.push(say('dry run', `${id}: ${text}`, /^It was allowed/.test(text) ? 'nothing was allowed' : null));
  }
  return statements;
}

const age = (kind: string, what: string, sinceMs: number, trueMs: number, nowMs: number): Statement =>
  equal(
    kind,
    `${what} for ${duration(Math.max(0, nowMs - sinceMs))}`,
    `${what} for ${duration(Math.max(0, nowMs - trueMs))}`,
  );

/** Exact arithmetic on what was reported. */
function usedBy({ nanoUsd, tokens }: Pick<WorkerFacts, 'nanoUsd' | 'tokens'>): string | null {
  const parts = [
    ...(nanoUsd > 0 ? [`$${(nanoUsd / 1e9).toFixed(2)}`] : []),
    ...(tokens > 0 ? [`${tokens.toLocaleString('en')} tokens`] : []),
  ];
  return parts.length === 0 ? null : parts.join(', ');
}

function budgetOf({ nanoUsd, tokens, granted }: WorkerFacts, { kind, limit }: { kind: string; limit: number }): string {
  if (kind === 'tokens') return `${(tokens - granted.tokens).toLocaleString('en')} of ${limit.toLocaleString('en')}`;
  if (nanoUsd === 0 && tokens > 0) return `unknown of $${limit.toFixed(2)}`;
  return `$${((nanoUsd - granted.nanoUsd) / 1e9).toFixed(2)} of $${limit.toFixed(2)}`;
}

function outcomeOfProbe(fleet: Fleet, id: string, nowMs: number) {
  const found = probe(fleet, id, { output: 'I am done.' } as never, nowMs);
  return 'decision' in found
    ? { text: describeOutcome(found.decision), isDry: found.decision.dryRun }
    : { text: '', isDry: false };
}

type Rule = readonly [
  form: RegExp,
  problem: (found: RegExpExecArray, worker: WorkerFacts, facts: Facts) => string | null,
];

const times = (count: number) => (count === 1 ? 'once' : count === 2 ? 'twice' : `${count} times`);
const last = ({ decisions }: WorkerFacts) => decisions.at(-1);
const unless = (isTrue: boolean, truth: string): string | null => (isTrue ? null : truth);

/** What each sentence of a worker claims. The first form that fits counts. */
const workerRules: readonly Rule[] = [
  [
    /^Blocked (once|twice|\d+ times): (.*?)(; .*left)?$/,
    ([, howOften, failure], worker) => {
      const { retry, feedback } = last(worker) ?? { retry: { count: 0 }, feedback: [] };
      if (howOften !== times(retry.count)) return `blocked ${times(retry.count)}`;
      return wrongFailure(failure ?? '', feedback);
    },
  ],
  [
    /^Needs a person after (\d+) blocked stops?: (.*)$/,
    ([, , failure], worker) => wrongFailure(failure ?? '', last(worker)?.feedback ?? []),
  ],
  [
    /^Allowed after (no|\d+) block(?:ed stops?)?: (.*)$/,
    ([, , failure], worker) =>
      unless(last(worker)?.cause === 'capped', 'not capped') ??
      wrongFailure(failure ?? '', last(worker)?.feedback ?? []),
  ],
  [
    /^Stuck on the same failure: (.*)$/,
    ([, failure], worker) => wrongFailure(failure ?? '', last(worker)?.feedback ?? []),
  ],
  [
    / (is|was) used up/,
    ([, tense], worker) =>
      unless(tense === 'was', 'that was so when it tried to stop') ??
      unless(
        ['budget', 'bypassed'].includes(worker.escalation?.cause ?? last(worker)?.cause ?? ''),
        'not for its budget',
      ),
  ],
  [
    /^Worker (\S+) (fell silent while it held|is stale and holds) /,
    ([, , what], worker) =>
      unless(
        what !== 'is stale and holds' && worker.escalation?.cause === 'stale',
        `it holds ${[...worker.held.keys()]}`,
      ),
  ],
  [/^Resumed by (\S+)$/, ([, by], worker) => unless(by === worker.resolvedBy, `by ${worker.resolvedBy}`)],
  [/^Stopped by (\S+)$/, ([, by], worker) => unless(by === worker.resolvedBy, `by ${worker.resolvedBy}`)],
  [/^Has not tried to stop yet$/, (_, worker) => unless(!worker.hasTried, 'it has')],
  [
    /^(\d+) of (\d+) steps done/,
    ([, done, all], worker) => {
      const truth = `${worker.steps.filter(({ status }) => status === 'completed').length} of ${worker.steps.length}`;
      return unless(truth === `${done} of ${all}`, truth);
    },
  ],
  [
    /^At work on (\S+?)(;|$)/,
    ([, task], worker) => unless([...worker.held.keys()].at(-1) === task, `on ${[...worker.held.keys()]}`),
  ],
  [/^At work/, (_, worker) => unless(worker.held.size === 0, 'it holds a task')],
  [/^(Waits for check|Is being judged|Held: )/, (_, worker) => unless(worker.isTrying, 'it is not trying to stop')],
  [/^Asks: /, (_, worker) => unless(worker.askedMs !== null, 'it asks nothing')],
  [/^Which of the two keys\?$/, (_, worker) => unless(worker.escalation !== null, 'it is not escalated')],
  [
    /^Allowed: all that the policy asks for is done$/,
    (_, worker) => unless(last(worker)?.cause === 'complete', `${last(worker)?.cause}`),
  ],
  [
    /^Allowed: nothing was set to be checked$/,
    (_, worker) => unless(last(worker)?.cause === 'no-policy', `${last(worker)?.cause}`),
  ],
  [/^Not judged: /, (_, worker) => unless(last(worker)?.cause === 'unjudged', `${last(worker)?.cause}`)],
  [/^Told to continue: /, (_, worker) => unless(last(worker)?.decision === 'block', 'it was not blocked')],
  [
    /^Idle since it was blocked$/,
    (_, worker) => unless(last(worker)?.decision === 'block' || worker.held.size === 0, 'it was not blocked'),
  ],
  [/^It asked for a person, and has continued$/, (_, worker) => unless(worker.escalation === null, 'it still waits')],
  [/^Its session (?:has )?ended/, (_, worker) => unless(worker.isEnded, 'it has not')],
  [/^(The session has ended|Back in service)$/, () => null],
  [/^Hook evaluation failed: |^The task/, (_, worker) => unless(worker.escalation !== null, 'it is not escalated')],
  // The idle timeout has passed.
  [
    /^(No task came|Idle for|Nothing to do)/,
    (_, worker) => unless(last(worker)?.cause === 'idle-timeout', `${last(worker)?.cause}`),
  ],
  [/ fail|failed|plan steps remain/, (_, worker) => unless(worker.escalation !== null, 'it is not escalated')],
];

const wrongInSentence = (sentence: string, worker: WorkerFacts, facts: Facts): string | null => {
  for (const [form, problem] of workerRules) {
    const found = form.exec(sentence);
    if (found !== null) return problem(found, worker, facts);
  }
  return 'a form without a rule: add one';
};

/** A failure must name what failed in the output that the check has printed. */
function wrongFailure(
  failure: string,
  feedback: readonly { readonly check: string; readonly details?: unknown }[],
): string | null {
  const printed = feedback.find(({ check }) => check === 'e2e')?.details;
  if (typeof printed !== 'string') return null;
  const truths = Object.entries(failures).filter(([name]) => printed === printedBy(name));
  const [, truth = ''] = truths[0] ?? [];
  return failure.startsWith(truth.slice(0, 100)) ? null : truth;
}

const printedBy = (name: string) => outputOf(name);

const taskRules: readonly (readonly [
  form: RegExp,
  problem: (found: RegExpExecArray, task: TaskFacts, facts: Facts) => string | null,
])[] = [
  [/^Held by (\S+)$/, ([, worker], task) => unless(task.holder === worker, `held by ${task.holder}`)],
  [/^Completed$/, (_, task) => unless(task.outcome === 'completed', `${task.outcome}`)],
  [/^Cancelled$/, (_, task) => unless(task.outcome === 'cancelled', `${task.outcome}`)],
  [
    /^Comes after (\S+)/,
    ([, first = ''], task, facts) =>
      unless(task.after.includes(first) && facts.tasks.get(first)?.outcome !== 'completed', 'that is done'),
  ],
  [
    /^(Waits for a worker of queue main|In no queue)/,
    (_, task) =>
      unless(task.holder === null && task.outcome === null && task.escalation === null, `held by ${task.holder}`),
  ],
  [/ is stale and holds | is used up/, () => 'that was so when it was escalated'],
  [/./, (_, task) => unless(task.escalation !== null, 'it is not escalated')],
];

function aboutTask(row: TaskRow, task: TaskFacts, { fleet, facts }: Moment): Statement[] {
  const { id } = row;
  const nowMs = facts.nowMs();
  const [form, problem] = taskRules.find(([form]) => form.test(row.sentence)) ?? [
    /./,
    () => 'a form without a rule: add one',
  ];
  const statements = [
    equal('task holder', `${id} is held by ${row.worker}`, `${id} is held by ${task.holder}`),
    say('task sentence', `${id}: ${row.sentence}`, problem(form.exec(row.sentence) as RegExpExecArray, task, facts)),
  ];
  if (task.heldMs !== null && row.heldSinceMs !== null) {
    statements.push(age('holder age', `${id} is held`, row.heldSinceMs, task.heldMs, nowMs));
    const since = viewTask(fleet, id)?.standing.waits[0]?.since ?? '';
    statements.push(age('holder age', `${id} waits for its worker`, Date.parse(since), task.heldMs, nowMs));
  }
  if (task.holder === null) statements.push(age('task age', `${id} is ${row.state}`, row.sinceMs, task.movedMs, nowMs));
  return statements;
}

function aboutQueue({ store, facts }: Moment): Statement[] {
  const row = store.queues.get('main');
  if (row === undefined) return [];
  const nowMs = facts.nowMs();
  const all = [...facts.tasks.values()].filter(({ queue }) => queue === 'main');
  const isOpen = (id: string) => facts.tasks.get(id)?.outcome !== 'completed';
  const ready = all.filter((task) => task.holder === null && task.outcome === null && task.escalation === null);
  const free = ready.filter(({ after }) => !after.some(isOpen));
  const { done, oldestMs } = figuresOf(store.tasks.values(), nowMs).get('main') ?? noFigures;
  const doneNow = all.filter(({ outcome, movedMs }) => outcome === 'completed' && movedMs > nowMs - 3_600_000).length;
  return [
    equal('queue', `${row.pending} tasks wait in main`, `${free.length} tasks wait in main`),
    equal('queue', `${done} were done in an hour`, `${doneNow} were done in an hour`),
    ...(oldestMs === null
      ? []
      : [age('queue', 'the oldest waits', oldestMs, Math.min(...ready.map(({ movedMs }) => movedMs)), nowMs)]),
  ];
}

function aboutInbox({ store, facts }: Moment): Statement[] {
  const waiting = findWaiting(store, facts.nowMs());
  const left = [...facts.tasks].filter(([, { escalation }]) => escalation !== null && !isShared(escalation, facts));
  const workers = [...facts.workers.values()].filter(
    ({ escalation, askedMs, isEnded }) => escalation !== null || (askedMs !== null && !isEnded),
  );
  const stopped = [...store.workers.values()].filter(
    (row) => rankOf(row) === 'stopped' && facts.workers.get(row.id)?.askedMs != null,
  );
  const statements = [
    equal(
      'inbox',
      `${waiting.length} wait for a person`,
      `${workers.length + left.length - stopped.length} wait for a person`,
    ),
  ];
  for (const { entity, id } of waiting) {
    if (entity === 'task') {
      const row = store.tasks.get(id);
      const { escalation = null } = facts.tasks.get(id) ?? {};
      if (row === undefined || escalation === null) {
        statements.push(say('inbox', `task ${id} waits`, 'it does not'));
        continue;
      }
      statements.push(age('inbox', `task ${id} waits`, taskWaitSinceOf(row), escalation.sinceMs, facts.nowMs()));
      const note = noteOnWorker(store, row) ?? '';
      const partner = facts.workers.get(escalation.with ?? '')?.escalation ?? null;
      const isAgain = partner !== null && partner.sinceMs > escalation.sinceMs;
      const truth = escalation.with === null ? '' : isAgain ? 'waits for something else now' : 'no longer waits';
      statements.push(say('inbox note', `task ${id}: ${note}`, note.endsWith(truth) ? null : truth));
    } else {
      const asked = tasksShownWith(store, new Set([id]))
        .map((task) => task.id)
        .sort();
      const truth = [...facts.tasks]
        .filter(([, { escalation }]) => escalation?.with === id && isShared(escalation, facts))
        .map(([task]) => task)
        .sort();
      statements.push(
        equal('answer', `the answer to ${id} asks about ${asked}`, `the answer to ${id} asks about ${truth}`),
      );
    }
  }
  return statements;
}

/** Whether a task waits for the same answer as its worker. */
function isShared({ sinceMs, with: id }: NonNullable<TaskFacts['escalation']>, facts: Facts): boolean {
  const partner = facts.workers.get(id ?? '')?.escalation ?? null;
  return partner !== null && partner.sinceMs <= sinceMs;
}

/** The values shown in a column, by its key. */
const shownIn = (nowMs: number): Readonly<Record<string, (row: WorkerRow) => number | string | null>> => ({
  since: ({ sinceMs }) => nowMs - sinceMs,
  retries: ({ retryCount }) => retryCount,
  cost: ({ usd, tokens }) => (usd + tokens === 0 ? null : usd + tokens * 1e-15),
  seen: ({ lastSeenMs }) => nowMs - lastSeenMs,
});

function aboutOrder({ store, facts }: Moment): Statement[] {
  const columns = Object.entries(shownIn(facts.nowMs()));
  const sorted = (rows: readonly WorkerRow[], shownValue: (row: WorkerRow) => number | string | null) =>
    rows.map(shownValue).filter((value): value is number => typeof value === 'number');
  const workers = columns.flatMap(([key, shownValue]) =>
    [key, `-${key}`].map((sort) => {
      const rows = order(store.workers, () => true, workerKeys, sort).map((id) => store.workers.get(id) as WorkerRow);
      const values = sorted(rows, shownValue);
      const rises = values.every((value, index) => index === 0 || value >= (values[index - 1] ?? 0));
      const falls = values.every((value, index) => index === 0 || value <= (values[index - 1] ?? 0));
      const direction = directionOf(key, sort);
      return say(
        'order',
        `${sort} is ${direction}`,
        unless(direction === 'ascending' ? rises : falls, rises ? 'ascending' : 'descending'),
      );
    }),
  );
  return workers;
}

/** The log of the day as the service reads it. */
const messageOf = ({ seq, atMs, subject, data }: Facts['entries'][number]): LogMessage =>
  ({ seq, atMs, subject, data: new TextEncoder().encode(JSON.stringify(data)) }) as unknown as LogMessage;

async function aboutAttempts(id: string, worker: WorkerFacts, facts: Facts): Promise<Statement[]> {
  const decisions = [...worker.decisions];
  const own = facts.entries.filter(({ subject }) => topicOf(subject).id === id).map(messageOf);
  const isOn = (filter: string, subject: string) =>
    filter.endsWith('>') ? subject.startsWith(filter.slice(0, -1)) : subject === filter;
  const newest = async (filter: string, count: number) =>
    own.filter(({ subject }) => isOn(filter, subject)).slice(-count);
  const attempts = await readAttempts({ newest }, 'main', id, { before: null, limit: attemptsShown });
  const pattern = patternOf(attempts);
  const statements: Statement[] = [];
  if (pattern !== null && pattern.kind === 'same') {
    const causes = decisions.slice(-pattern.times).map(({ cause, decision }) => `${decision} ${cause}`);
    const isFailure = causes.every((cause) => /^block (incomplete|stuck)|^allow (capped|stuck)/.test(cause));
    statements.push(say('pattern', `${id}: ${describePattern(pattern)}`, unless(isFailure, causes.join(', '))));
  }
  for (const { seq, work } of attempts.slice(0, -1)) {
    if (work === null || work.begun === 'prompt') continue;
    statements.push(
      say(
        'work between',
        `${id} #${seq}: ${work.begun ?? 'no other task'} came in between`,
        wrongTask(own, seq, work.begun),
      ),
    );
  }
  return statements;
}

/** Compares the last claim before the previous attempt with those between it and this one. */
function wrongTask(own: readonly LogMessage[], seq: number, begun: 'task' | null): string | null {
  const claims: { readonly seq: number; readonly task: unknown }[] = [];
  let from = 0;
  for (const message of own) {
    if (message.seq >= seq) break;
    const { type } = topicOf(message.subject);
    if (type === 'stop.attempted') from = message.seq;
    if (type === 'task.claimed')
      claims.push({ seq: message.seq, task: JSON.parse(new TextDecoder().decode(message.data)).task });
  }
  const before = claims.findLast((claim) => claim.seq < from)?.task;
  const others = claims.filter((claim) => claim.seq > from && claim.task !== before);
  return unless(others.length > 0 === (begun === 'task'), `${others.length} other tasks were claimed`);
}

function aboutHistory(facts: Facts): Statement[] {
  const statistics = createStatistics();
  for (const { atMs, subject, data } of facts.entries)
    statistics.fold({ atMs, subject, text: () => JSON.stringify(data) });
  const nowMs = facts.nowMs();
  const view = statistics.view({ span: 'week', nowMs, knownFromMs: null, areTasksKnown: true });
  const runs = facts.entries.filter(({ subject }) => subject.endsWith('.check.finished'));
  const passed = runs.filter(({ data }) => data.outcome === 'pass').length;
  const blocked = facts.entries.filter(
    ({ subject, data }) => subject.includes('.decision.') && data.decision === 'block' && data.cause !== 'superseded',
  ).length;
  const shown = view.buckets.reduce((sum, { verdicts }) => sum + verdicts.blocked, 0);
  const e2e = view.checks.find(({ check }) => check === 'e2e');
  return [
    equal('history', `${shown} blocked`, `${blocked} blocked`),
    ...(e2e === undefined || passed === 0 || passed === runs.length
      ? []
      : [
          equal('history', `e2e passed ${passedText(e2e)}`, `e2e passed ${Math.round((100 * passed) / runs.length)} %`),
        ]),
  ];
}

function aboutEntries(facts: Facts): Statement[] {
  const listed = facts.entries
    .map(messageOf)
    .map(timelineEntry)
    .filter((entry) => entry !== null);
  const hidden = facts.entries.filter(({ subject }) => isHousekeeping(topicOf(subject).type)).length;
  const text = endText(listed.length);
  const isWhole = text.includes(`${listed.length.toLocaleString('en')} `) && (hidden === 0 || text.includes('Timers'));
  const texts = listed.slice(-20).map(({ seq, text: line }) => {
    const shown = inLocalTime(line);
    const problem = /\d\.\d{10,}/.test(shown)
      ? 'more digits than billionths of a dollar'
      : /T\d\d:\d\d:\d\d(\.\d+)?Z/.test(shown)
        ? 'a time in another zone'
        : null;
    return say('entry', `${seq}: ${shown}`, problem);
  });
  return [
    say(
      'entries',
      text,
      isWhole && listed.length + hidden === facts.entries.length ? null : `${facts.entries.length} are in the log`,
    ),
    ...texts,
  ];
}
