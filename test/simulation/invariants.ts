/** Invariants, during faults and after the run has settled (docs/reliability.md). */
import { gunzipSync } from 'node:zlib';
import {
  attemptMessageId,
  copyFleet,
  createFleet,
  type Decision,
  type Fleet,
  noteDecision,
  parseDecisionMessageId,
  readEntry,
  takeSnapshot,
  viewFleet,
} from '../../machines/index.ts';
import { foldMessage } from '../../src/host/fold/fold-message.ts';
import { formatLogLine } from '../../src/nats/log/log-line.ts';
import { type Lives, oneLife, readLives } from './forgetting.ts';
import { archiveFiles } from './modules/fs.ts';
import { readField } from './nats/protocol.ts';
import { historyOf, messageAt, messageIdOf, type StoredMessage, type Stream } from './nats/store.ts';
import { rulesOf } from './releases.ts';
import { fittingSeqs } from './snapshots.ts';
import { fleet as fleetName, type Member, type World } from './world.ts';

const isReady = ({ replica, process }: Member) =>
  process.alive && !process.paused && replica?.service.status().ready === true;

/** Whether it has folded entries that the store lost, but cannot know it because its link is cut. */
const isUnaware = ({ network }: World, { outran, replica, process }: Member) =>
  outran !== null && outran === replica && Object.values(network.routesOf(process)).some(({ cut }) => cut);

/** At any time: ready replicas at the same sequence agree, and a task has at most one holder. */
export function checkAgreement(world: World): void {
  const bySeq = new Map<number, { name: string; view: string }>();
  for (const member of world.members.filter(isReady)) {
    const { name, replica } = member;
    if (replica === null) continue;
    checkTasks(world, name, replica.fleet);
    if (isUnaware(world, member)) continue;
    const view = JSON.stringify(viewFleet(replica.fleet));
    const other = bySeq.get(replica.fleet.seq);
    if (other === undefined) bySeq.set(replica.fleet.seq, { name, view });
    else if (other.view !== view)
      world.fail(`${other.name} and ${name} disagree at ${replica.fleet.seq}: ${difference(other.view, view)}`);
  }
}

function checkTasks(world: World, replica: string, fleet: Fleet): void {
  const holders = new Map<string, string>();
  for (const [worker, { snapshot }] of fleet.workers)
    for (const task of snapshot.context.worker.tasks) {
      const other = holders.get(task);
      if (other !== undefined) world.fail(`${replica}: task ${task} is held by ${other} and ${worker}`);
      holders.set(task, worker);
    }
  for (const [task, { snapshot }] of fleet.tasks) {
    const { worker } = snapshot.context;
    if (worker !== (holders.get(task) ?? null))
      world.fail(
        `${replica}: task ${task} says it is held by ${worker}, and ${holders.get(task) ?? 'nobody'} holds it`,
      );
  }
}

/** Why the run has not settled yet, or null. */
export function unrest(world: World): string | null {
  const { log } = world;
  if (log === undefined) return 'there is no log';
  for (const member of world.members) {
    if (!isReady(member))
      return `${member.name} is not ready: ${member.lastError ?? member.replica?.service.status().reason}`;
    const status = member.replica?.service.status();
    if (status?.foldedSeq !== log.lastSeq) return `${member.name} has folded ${status?.foldedSeq} of ${log.lastSeq}`;
    if (status.openAttempts > 0) return `${member.name} has open attempts: ${[...(member.replica?.fleet.open ?? [])]}`;
    if ((member.replica?.fleet.evaluating.size ?? 0) > 0) return `${member.name} has open evaluations`;
  }
  const lives = livesOf(world, log);
  const decisions = decisionsOf(log, lives);
  const undecided = attemptsOf(log, lives).find(({ key }) => !decisions.has(key));
  if (undecided !== undefined) return `attempt ${undecided.key} at ${undecided.seq} has no decision entry`;
  const missing = deadLettersOf(world, log).find(({ letters }) => letters === 0);
  return missing === undefined ? null : `entry ${missing.seq} has no dead letter`;
}

/** When the last pending check or hook times out, by the log's clock. 0 if there is none. */
export function lastDeadline({ members }: World): number {
  const found = members.flatMap(({ replica }) => {
    if (replica === null) return [];
    const { workers, tasks, open, evaluating } = replica.fleet;
    const evaluations = [...evaluating].flatMap((task) => tasks.get(task)?.snapshot.context.evaluations ?? []);
    return [
      ...[...open].map((worker) => workers.get(worker)?.wakeMs ?? 0),
      ...evaluations.map(({ pending }) => pending.deadlineMs),
    ];
  });
  return Math.max(0, ...found);
}

/** Checks after the run has settled. */
export function checkEnd(world: World): void {
  const { log } = world;
  if (log === undefined) {
    world.fail('there is no log');
    return;
  }
  checkAgreement(world);
  for (const failure of livesOf(world, log).failures) world.fail(failure);
  checkFold(world, log);
  checkAcknowledged(world, log);
  checkDecisions(world, log);
  checkBudget(world, log);
  checkClaims(world, log);
  checkDeadLetters(world, log);
  checkTimers(world, log);
  checkArchive(world, log);
}

/** Every replica's state equals a fold of the complete log. */
function checkFold(world: World, log: Stream): void {
  const fleet = foldAll(log);
  const expected = textOf(fleet);
  for (const { name, replica } of world.members) {
    const found = replica === null ? '' : textOf(replica.fleet);
    if (found !== expected) world.fail(`${name} is not what its log gives: ${difference(found, expected)}`);
  }
}

function foldAll(log: Stream): Fleet {
  const fleet = createFleet(fleetName, { rules: rulesOf[2] });
  for (const message of historyOf(log)) fold(fleet, message);
  return fleet;
}

/** Folds a message like a replica. @returns the resulting decisions */
function fold(fleet: Fleet, message: StoredMessage): readonly Decision[] {
  const { outcomes } = foldMessage(fleet, logMessageOf(message));
  const [, , area, worker = ''] = message.subject.split('.');
  const attempt = parseDecisionMessageId(worker, messageIdOf(message) ?? '');
  if (area === 'decision' && attempt !== null) noteDecision(fleet, worker, attempt, message.seq);
  return outcomes.flatMap((it) => (it.kind === 'decided' ? [it.decision] : []));
}

/** The complete state except obsolete deadlines, some of which a replica with timers has already dropped. */
function textOf(fleet: Fleet): string {
  // The replica may be taking a snapshot.
  const snapshot = takeSnapshot(copyFleet(fleet));
  const lines = [...snapshot.lines].filter((line) => !/^\["(deadlines|deadlinesKept|forgetting)"/.test(line));
  return `${JSON.stringify(viewFleet(fleet))}\n${lines.join('')}`;
}

const logMessageOf = ({ seq, atMs, subject, header, data }: StoredMessage) => ({
  seq,
  atMs,
  subject,
  data,
  header: (name: string) => readField(header, name),
});

/** Every acknowledged entry is at its sequence, unless the store itself lost it. */
function checkAcknowledged(world: World, log: Stream): void {
  const lost = new Set(world.ledger.lost.map(({ seq, subject, data }) => `${seq} ${subject} ${data}`));
  const history = { messages: [...historyOf(log)] };
  for (const { seq, subject, payload } of world.ledger.acknowledged) {
    const found = messageAt(history, seq);
    if (found?.subject === subject && found.data.toString() === payload) continue;
    if (!lost.has(`${seq} ${subject} ${payload}`)) world.fail(`acknowledged and gone: ${seq} ${subject} ${payload}`);
  }
}

/** Retention removes only entries covered by two snapshots (protocol.md §15). */
export function checkCut(world: World, stream: Stream, seq: number): void {
  if (stream !== world.log) return;
  const covering = fittingSeqs(world).filter((it) => it + 1 >= seq);
  world.trace(`the log is cut before ${seq}, and snapshots cover ${covering}`);
  if (covering.length + world.damaged.size < 2)
    world.fail(`the log is cut before ${seq}, and snapshots cover ${covering}`);
}

/** Grace period: a replica that activates a version may not know yet of a member that just joined. */
const joinedJustNowMs = 8_000;

/** A new rules version is activated only when every member supports it (protocol.md §15). */
export function checkRulesSet({ log, fail, scheduler }: World): void {
  if (log === undefined) return;
  const { replicas, rulesOfReplicas } = foldAll(log);
  for (const [name, joinedMs] of replicas)
    if ((rulesOfReplicas.get(name) ?? 1) < 2 && scheduler.nowMs - joinedMs > joinedJustNowMs)
      fail(`rules that ${name} does not know are put in force`);
}

/** Cached while the log has the same end. */
let known: { readonly log: Stream; readonly seq: number; readonly lives: Lives } | null = null;

export const countForgotten = (world: World): number => (world.log === undefined ? 0 : livesOf(world, world.log).count);

function livesOf({ settings, ledger }: World, log: Stream): Lives {
  // For renumbered entries, the life they belong to is unknown.
  if (settings.policies.forget === undefined || ledger.lost.length > 0) return oneLife;
  if (known?.log !== log || known.seq !== log.lastSeq) {
    const fleet = createFleet(fleetName, { rules: rulesOf[2] });
    known = { log, seq: log.lastSeq, lives: readLives(log, fleet, fold) };
  }
  return known.lives;
}

/** A forgotten worker that returns is a different worker with different attempts. */
const keyOf = (worker: string, attempt: string, life: number) =>
  `${attemptMessageId(worker, attempt)}${life === 0 ? '' : ` in life ${life + 1}`}`;

type Attempt = { readonly key: string; readonly seq: number };

/** Valid attempts with a name. */
function attemptsOf(log: Stream, lives: Lives): Attempt[] {
  return historyOf(log).flatMap(({ subject, data, seq }) => {
    const [, , area, worker = '', noun, verb] = subject.split('.');
    if (area !== 'worker' || `${noun}.${verb}` !== 'stop.attempted') return [];
    const attempt = nameOf(data.toString());
    return attempt === null ? [] : [{ key: keyOf(worker, attempt, lives.at(worker, seq)), seq }];
  });
}

function nameOf(payload: string): string | null {
  try {
    const { attempt } = JSON.parse(payload) as { attempt?: unknown };
    return typeof attempt === 'string' && !attempt.includes(' ') ? attempt : null;
  } catch {
    return null;
  }
}

function decisionsOf(log: Stream, lives: Lives): Map<string, Decision[]> {
  const decisions = new Map<string, Decision[]>();
  for (const message of historyOf(log)) {
    const [, , area, worker = ''] = message.subject.split('.');
    if (area !== 'decision') continue;
    const decision = JSON.parse(message.data.toString()) as Decision;
    const attempt = decision.attempt ?? parseDecisionMessageId(worker, messageIdOf(message) ?? '') ?? '';
    const key = keyOf(worker, attempt, lives.at(worker, decision.seq ?? message.seq));
    decisions.set(key, [...(decisions.get(key) ?? []), decision]);
  }
  return decisions;
}

const dayMs = 86_400_000;

/** Stops are judged until the entry that exhausts the fleet's daily budget, and not after it. */
function checkBudget(world: World, log: Stream): void {
  const { usd: limit } = (world.settings.policies.budget ?? {}) as { usd?: number };
  // If the store went back, there may be decisions about lost entries.
  if (limit === undefined || world.ledger.lost.length > 0) return;
  const isUsedUp = new Map<number, boolean>();
  let [day, tenths, isSet] = [0, 0, false];
  for (const { seq, subject, atMs, data } of historyOf(log)) {
    if (Math.floor(atMs / dayMs) !== day) [day, tenths] = [Math.floor(atMs / dayMs), 0];
    isSet ||= subject.endsWith('.policy.set');
    if (subject.endsWith('.usage.reported')) tenths += Math.round(JSON.parse(data.toString()).usd * 10);
    if (subject.endsWith('.stop.attempted')) isUsedUp.set(seq, isSet && tenths >= Math.round(limit * 10));
  }
  for (const { worker, attempt, seq, verdicts } of [...decisionsOf(log, livesOf(world, log)).values()].flat()) {
    const found = verdicts.find(({ guard }) => guard === 'bypass');
    if (found === undefined || found.detail.startsWith('budget: ') === isUsedUp.get(seq ?? 0)) continue;
    world.fail(
      `${worker} ${attempt}: the budget of the day is ${isUsedUp.get(seq ?? 0) ? '' : 'not '}used up, and ${found.detail}`,
    );
  }
}

/** One decision per attempt, stored before its reply, and no count above its cap. */
function checkDecisions(world: World, log: Stream): void {
  const lives = livesOf(world, log);
  const decisions = decisionsOf(log, lives);
  const attempts = new Set(attemptsOf(log, lives).map(({ key }) => key));
  const wentBack = world.ledger.lost.length > 0;
  const isMixed = wentBack && world.settings.policies.forget !== undefined;
  for (const [key, found] of decisions) {
    if (!isMixed && doDiffer(found, wentBack)) world.fail(`${key} has ${found.length} decisions that differ`);
    for (const { retry, keepAlives } of found) {
      if (retry.max !== null && retry.count > retry.max) world.fail(`${key}: ${retry.count} retries of ${retry.max}`);
      if (keepAlives.max !== null && keepAlives.count > keepAlives.max)
        world.fail(`${key}: ${keepAlives.count} keep-alives of ${keepAlives.max}`);
    }
  }
  // If the store went back, a reply may be all that is left of an attempt.
  if (wentBack) return;
  for (const { worker, attempt, answers, gaveUp } of world.ledger.asked.values()) {
    const told = new Map<string, Set<string>>();
    for (const { decision } of answers) {
      const key = keyOf(worker, attempt, lives.at(worker, decision.seq ?? 0));
      told.set(key, (told.get(key) ?? new Set()).add(essenceOf(decision)));
    }
    for (const [key, found] of told) {
      const [first, ...others] = found;
      const stored = decisions.get(key)?.[0];
      if (others.length > 0) world.fail(`${key} was answered in several ways: ${[...found].join(' and ')}`);
      if (stored === undefined) world.fail(`${key} was answered and is not in the log`);
      else if (first !== essenceOf(stored))
        world.fail(`${key} was told ${first}, and the log has ${essenceOf(stored)}`);
    }
    const key = keyOf(worker, attempt, 0);
    if (gaveUp && answers.length === 0 && attempts.has(key) && !decisions.has(key)) world.fail(`${key} never ended`);
  }
}

/**
 * Decisions about one entry. If the log went back, an attempt may be gone or moved while its decision stayed: if
 * repeated, or at its new sequence, it is judged again, and the old decision refers to another `seq` (protocol.md §15).
 */
const doDiffer = (decisions: readonly Decision[], wentBack: boolean): boolean =>
  decisions.some((a) => decisions.some((b) => (!wentBack || a.seq === b.seq) && essenceOf(a) !== essenceOf(b)));

/** The parts of a decision that matter to an agent. Replica and duration may differ. */
const essenceOf = ({ tookMs: _, replica: __, ...decision }: Decision) => JSON.stringify(decision);

/** A worker gets a task only if the log assigned it to that worker by that request, and gets at most one. */
function checkClaims(world: World, log: Stream): void {
  if (world.ledger.lost.length > 0 || world.ledger.claimed.length === 0) return;
  const fleet = createFleet(fleetName, { rules: rulesOf[2] });
  const given = new Set<string>();
  for (const message of historyOf(log)) {
    const { outcomes } = foldMessage(fleet, logMessageOf(message));
    const [, , area, worker, noun, verb] = message.subject.split('.');
    if (area !== 'worker' || `${noun}.${verb}` !== 'task.claimed') continue;
    if (outcomes.some((it) => it.kind === 'refused' && it.type === 'task.claimed')) continue;
    const { task, request } = JSON.parse(message.data.toString()) as { task: string; request?: string };
    given.add(`${worker} ${request} ${task}`);
  }
  const told = new Map<string, string>();
  for (const { worker, request, task } of world.ledger.claimed) {
    if (!given.has(`${worker} ${request} ${task}`))
      world.fail(`${worker} was told that ${task} is its own by ${request}`);
    const other = told.get(`${worker} ${request}`) ?? task;
    if (other !== task) world.fail(`${worker} was told of ${other} and of ${task} by ${request}`);
    told.set(`${worker} ${request}`, task);
  }
}

/**
 * Each refused entry has one dead letter. If the log went back, dead letters may belong to other entries. One that was
 * stored and then lost in a power failure need not be repeated: no entry in the log says that it is missing.
 */
function deadLettersOf({ ledger, disk }: World, log: Stream): { readonly seq: number; readonly letters: number }[] {
  if (ledger.lost.length > 0) return [];
  const dead = disk.streams.get(`STOPGATE-DEAD_${fleetName}`)?.messages ?? [];
  const deadSeqs = dead.map(({ data }) => (JSON.parse(data.toString()) as { seq: number }).seq);
  return historyOf(log).flatMap(({ seq, subject, data }) => {
    const read = readEntry(subject, data.toString(), data.length);
    if (read === null || 'data' in read) return [];
    const letters = deadSeqs.filter((it) => it === seq).length;
    return letters === 0 && ledger.lostLetters.has(seq) ? [] : [{ seq, letters }];
  });
}

function checkDeadLetters(world: World, log: Stream): void {
  for (const { seq, letters } of deadLettersOf(world, log))
    if (letters !== 1) world.fail(`entry ${seq} was refused and has ${letters} dead letters`);
}

/** One per second plus a few: a suspended server later stores everything sent in the meantime. */
const firedMax = 24;

/** Timers do not flood the log, even while the server's clock is behind the log's. */
function checkTimers({ fail }: World, log: Stream): void {
  const counts = new Map<string, number>();
  for (const message of historyOf(log)) {
    if (!message.subject.endsWith('.timer.fired')) continue;
    const deadline = messageIdOf(message)?.split(':').slice(0, 4).join(':');
    if (deadline !== undefined) counts.set(deadline, (counts.get(deadline) ?? 0) + 1);
  }
  for (const [deadline, count] of counts) if (count > firedMax) fail(`the timer ${deadline} fired ${count} times`);
}

/** Entries removed by retention are in the archive, each exactly once. */
function checkArchive({ settings, ledger, fail }: World, log: Stream): void {
  if (settings.retention.archive === null || ledger.lost.length > 0) return;
  const archived = archiveFiles().flatMap((bytes) => gunzipSync(bytes).toString().trimEnd().split('\n'));
  const known = new Map(archived.map((line) => [(JSON.parse(line) as { seq: number }).seq, line]));
  for (const message of log.cut) {
    const line = formatLogLine(logMessageOf(message));
    if (known.get(message.seq) !== line)
      fail(`entry ${message.seq} was cut, and the archive has ${known.get(message.seq)}`);
  }
  if (known.size !== archived.length) fail(`the archive has ${archived.length} lines of ${known.size} entries`);
}

/** Shows where two texts differ. */
function difference(a: string, b: string): string {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  const cut = (text: string) => text.slice(Math.max(0, at - 80), at + 80);
  return `…${cut(a)}… and …${cut(b)}…`;
}
