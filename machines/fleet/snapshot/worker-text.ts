/**
 * Writes a worker without an open attempt as a short text. Snapshots have it in this form, and the fold keeps stopped
 * workers in it until an entry about them arrives: this takes a tenth of the memory, and a snapshot can copy the text.
 * The text is complete, so the only visible difference is the time of the first access (5 µs). Times are relative to
 * when the worker was last seen. Only the parts of its context that differ from a new one are written, with a bit for
 * each field.
 */
import type { Step } from '../../policy/plan.ts';
import type { Stepper } from '../../step.ts';
import { type Presence, presences, workerStates } from '../../values/states.ts';
import type { Period, WorkerUsage } from '../../values/usage.ts';
import { createWorkerContext, type WorkerContext } from '../../worker/context.ts';
import type { workerMachine } from '../../worker/worker.ts';
import type { KnownAttempts } from '../known-attempts.ts';
import { createRecord, type StateMove, type WorkerRecord } from '../records.ts';
import { Packed, type SnapshotMap } from '../snapshot-map.ts';
import { type DecisionTemplate, joinDecision, type OwnDecision, ownPartOf, templateOf } from './decision-text.ts';
import { isSame } from './packing.ts';
import type { Legend } from './shapes.ts';

type Field = Exclude<keyof WorkerContext, 'fleet' | 'worker' | 'activeMs' | 'usage' | 'attempt' | 'lastDecision'>;
const besides = ['fleet', 'worker', 'activeMs', 'usage', 'attempt', 'lastDecision'];
const fresh = createWorkerContext({ fleet: '', worker: '', atMs: 0 });
const isField = (key: string): key is Field => !besides.includes(key);

export const workerLegend: Legend = {
  states: workerStates,
  presences,
  fields: Object.keys(fresh).filter(isField),
  events: ['stop.attempted', 'session.ended', 'prompt.submitted', 'tool.used', 'check.finished', 'decision'],
};

/**
 * Times are in milliseconds since `seenMs`. `changed`: the values of the fields whose bits `mask` has, lowest first, and
 * then `limitEndedMs` and `attends`, if `flags` has their bits.
 */
export type WorkerTuple = readonly [
  place: number,
  seenMs: number,
  namedMs: number,
  stoppedMs: number | null,
  activeMs: number,
  flags: number,
  wakeMs: number | null,
  owner: string | null,
  known: string | null,
  move: readonly [from: number, to: number, event: number | string, atMs: number] | null,
  decision: OwnDecision | null,
  usage: UsageTuple,
  mask: number,
  ...changed: unknown[],
];

export function toTuple({ snapshot, ...record }: WorkerRecord): WorkerTuple {
  const { lastSeenMs: seenMs, namedMs, stoppedMs, wakeMs, owner, known, lastMove, limitEndedMs } = record;
  const { worker } = snapshot.context;
  const { state, presence } = snapshot.value;
  let mask = 0;
  const changed: unknown[] = [];
  for (const [bit, field] of (workerLegend.fields as Field[]).entries()) {
    const value = worker[field];
    if (isSame(value, fresh[field])) continue;
    mask += 2 ** bit;
    changed.push(field === 'plan' ? worker.plan.map(fromStep) : value);
  }
  if (limitEndedMs !== null) changed.push(limitEndedMs - seenMs);
  if (record.attends !== null) changed.push(record.attends);
  return [
    presences.indexOf(presence) * workerStates.length + workerStates.indexOf(state),
    ...([seenMs, namedMs - seenMs, stoppedMs === null ? null : stoppedMs - seenMs] as const),
    worker.activeMs - seenMs,
    flagsOf(record),
    ...([wakeMs === null ? null : wakeMs - seenMs, owner, known === null ? null : encodeKnown(known)] as const),
    lastMove === null ? null : fromMove(lastMove, seenMs),
    worker.lastDecision === null ? null : ownPartOf(worker.lastDecision, seenMs),
    fromUsage(worker.usage, seenMs),
    mask,
    ...changed,
  ];
}

type Maker = { readonly name: string; readonly workerStepper: Stepper<typeof workerMachine> };

/** @param template of its decision, where it has one */
export function fromTuple(
  { name, workerStepper }: Maker,
  id: string,
  tuple: WorkerTuple,
  template: DecisionTemplate | null,
  attempt: WorkerContext['attempt'],
  legend: Legend = workerLegend,
): WorkerRecord {
  const [place, seenMs, namedMs, stoppedMs, activeMs, flags, ...more] = tuple;
  const [wakeMs, owner, known, move, decision, usage, mask, ...changed] = more;
  const worker = createWorkerContext({ fleet: name, worker: id, atMs: activeMs + seenMs }) as Record<string, unknown>;
  let rest = mask;
  let next = 0;
  for (let bit = 0; rest > 0; bit += 1) {
    if (rest % 2 === 1) {
      const field = legend.fields[bit] as string;
      worker[field] = field === 'plan' ? (changed[next] as StepTuple[]).map(toStep) : changed[next];
      next += 1;
    }
    rest = Math.floor(rest / 2);
  }
  if (decision !== null && template !== null) worker.lastDecision = joinDecision(id, decision, template, seenMs);
  worker.usage = toUsage(usage, seenMs);
  if (attempt !== null) worker.attempt = attempt;
  const { states } = legend;
  const state = states[place % states.length] as string;
  const presence = legend.presences[Math.floor(place / states.length)] as string;
  const record = createRecord(workerStepper.resume({ state, presence }, { worker }), seenMs);
  record.staleArmed = (flags & 1) > 0;
  record.wakeMs = wakeMs === null ? null : wakeMs + seenMs;
  record.owner = owner;
  record.accepted = (flags & 2) > 0;
  record.known = known === null ? null : decodeKnown(known);
  record.lastMove = move === null ? null : toMove(move, seenMs, legend);
  record.namedMs = namedMs + seenMs;
  record.stoppedMs = stoppedMs === null ? null : stoppedMs + seenMs;
  record.isForgetArmed = (flags & 4) > 0;
  record.presenceFrom = (legend.presences[((flags >> 3) & 3) - 1] as Presence | undefined) ?? null;
  if ((flags & limitEnded) > 0) {
    record.limitEndedMs = (changed[next] as number) + seenMs;
    next += 1;
  }
  if ((flags & attending) > 0) record.attends = changed[next] as string;
  return record;
}

/** The flag behind the two bits of `presenceFrom`. */
const limitEnded = 32;
const attending = 64;

/** Bits 3 and 4: the presence before, from 1; 0: none. */
const flagsOf = (record: Omit<WorkerRecord, 'snapshot'>): number =>
  (record.staleArmed ? 1 : 0) +
  (record.accepted ? 2 : 0) +
  (record.isForgetArmed ? 4 : 0) +
  (record.presenceFrom === null ? 0 : (presences.indexOf(record.presenceFrom) + 1) * 8) +
  (record.limitEndedMs === null ? 0 : limitEnded) +
  (record.attends === null ? 0 : attending);

function fromMove({ from, to, event, atMs }: StateMove, seenMs: number): NonNullable<WorkerTuple[9]> {
  const known = workerLegend.events.indexOf(event);
  return [workerStates.indexOf(from), workerStates.indexOf(to), known < 0 ? event : known, atMs - seenMs];
}

function toMove([from, to, event, atMs]: NonNullable<WorkerTuple[9]>, seenMs: number, legend: Legend): StateMove {
  const { states, events } = legend;
  const name = typeof event === 'number' ? events[event] : event;
  return { from: states[from], to: states[to], event: name, atMs: atMs + seenMs } as StateMove;
}

type StepTuple = readonly [title: string, status: string, step?: string | null, task?: string];
function fromStep({ title, status, step, task }: Step): StepTuple {
  if (task !== undefined) return [title, status, step ?? null, task];
  return step === undefined ? [title, status] : [title, status, step];
}
function toStep([title, status, step, task]: StepTuple): Step {
  if (step == null) return task === undefined ? { title, status } : { title, status, task };
  return task === undefined ? { title, status, step } : { title, status, step, task };
}

/** The usage of the session, then of the prompt if it differs; each has the sums at which it was granted, if it was. */
type UsageTuple = readonly [session: PeriodTuple, prompt?: PeriodTuple];
type PeriodTuple = readonly number[];

const fromUsage = ({ session, prompt }: WorkerUsage, seenMs: number): UsageTuple =>
  session === prompt ? [fromPeriod(session, seenMs)] : [fromPeriod(session, seenMs), fromPeriod(prompt, seenMs)];

function toUsage([first, second]: UsageTuple, seenMs: number): WorkerUsage {
  const session = toPeriod(first, seenMs);
  return { session, prompt: second === undefined ? session : toPeriod(second, seenMs) };
}

function fromPeriod({ tokens, nanoUsd, turns, sinceMs, granted }: Period, seenMs: number): PeriodTuple {
  const own = [tokens, nanoUsd, turns, sinceMs - seenMs];
  return granted === null ? own : [...own, granted.tokens, granted.nanoUsd, granted.turns, granted.atMs - seenMs];
}

// No spread with fields behind it: V8 (Node 20) gives each such object a hidden class of its own, of 260 bytes.
function toPeriod(tuple: PeriodTuple, seenMs: number): Period {
  const [tokens = 0, nanoUsd = 0, turns = 0, since = 0] = tuple;
  return { tokens, nanoUsd, turns, sinceMs: since + seenMs, granted: tuple.length > 4 ? toGrant(tuple, seenMs) : null };
}

function toGrant([, , , , tokens = 0, nanoUsd = 0, turns = 0, at = 0]: PeriodTuple, seenMs: number): Period['granted'] {
  return { tokens, nanoUsd, turns, atMs: at + seenMs };
}

// The attempts of a worker that are known, as text: of each the hash in nine digits, then the place of its decision.

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_';
const codes = Array.from(digits, (digit) => digit.charCodeAt(0));
const digitValues = new Uint8Array(128);
for (const [value, code] of codes.entries()) digitValues[code] = value;

/** 53 bits. */
const hashDigits = 9;

export function encodeKnown(known: Readonly<KnownAttempts>): string {
  const text: number[] = [];
  for (let at = 0; at < known.length; at += 2) {
    let hash = known[at] as number;
    for (let count = 0; count < hashDigits; count += 1) {
      text.push(codes[hash % 64] as number);
      hash = Math.floor(hash / 64);
    }
    // Five bits in each digit; the sixth says that more follow.
    let seq = known[at + 1] as number;
    for (; seq >= 32; seq = Math.floor(seq / 32)) text.push(codes[32 + (seq % 32)] as number);
    text.push(codes[seq] as number);
  }
  return String.fromCharCode(...text);
}

export function decodeKnown(text: string): KnownAttempts {
  const known: KnownAttempts = [];
  for (let at = 0; at < text.length; ) {
    let hash = 0;
    for (let digit = hashDigits - 1; digit >= 0; digit -= 1) hash = hash * 64 + valueAt(text, at + digit);
    at += hashDigits;
    let seq = 0;
    for (let factor = 1; ; factor *= 32) {
      const value = valueAt(text, at);
      at += 1;
      seq += (value % 32) * factor;
      if (value < 32) break;
    }
    known.push(hash, seq);
  }
  return known;
}

const valueAt = (text: string, at: number): number => digitValues[text.charCodeAt(at)] ?? 0;

type Packing = {
  readonly name: string;
  readonly workers: SnapshotMap<WorkerRecord>;
  workerStepper: Stepper<typeof workerMachine>;
};

/** Makes the fleet pack its own. @returns it */
export function packWorkers<It extends Packing>(fleet: It): It {
  fleet.workers.packing = {
    pack: (record) => (isAtRest(record) ? packWorker(record) : null),
    unpack: (id, packed) => unpackWorker(fleet, id, packed),
  };
  return fleet;
}

export const isAtRest = ({ snapshot: { value, context } }: WorkerRecord): boolean =>
  value.state === 'stopped' && context.worker.attempt === null;

export function packWorker(record: WorkerRecord): Packed {
  const { lastDecision } = record.snapshot.context.worker;
  const text = JSON.stringify(toTuple(record));
  // `stringify` leaves a tree of pieces, which reading one character flattens.
  text.charCodeAt(0);
  return new Packed(text, lastDecision === null ? null : templateOf(lastDecision));
}

const unpackWorker = (fleet: Packing, id: string, { text, shared }: Packed): WorkerRecord =>
  fromTuple(fleet, id, JSON.parse(text) as WorkerTuple, shared as DecisionTemplate | null, null);
