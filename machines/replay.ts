/**
 * Replay: folds lines of a file with the same machines and collects what was decided (protocol 10). Time is the
 * lines' own; nothing is asked of the world: answers of checks stand in the file.
 */
import type { Decision, HookResult } from './decision.ts';
import { isTooDeep, payloadBytesMax, readFields, readSubject, tooDeepWords } from './entry.ts';
import { createFleet, type Fleet } from './fleet.ts';
import { advanceClock, foldEntry } from './fold.ts';
import { formatIsoTime, parseIsoTime } from './iso-time.ts';
import type { PolicySet } from './policy.ts';
import { type FleetView, viewFleet } from './views.ts';

/** An attempt that the file leaves open. */
export type OpenAttempt = {
  readonly v: 1;
  readonly fleet: string;
  readonly worker: string;
  readonly attempt: string;
  readonly seq: number;
  readonly at: string;
  readonly decision: null;
  readonly state: 'validating';
  readonly waitsFor: string;
};
export type OpenHookResult = {
  readonly fleet: string;
  readonly taskId: string;
  readonly attempt: string;
  readonly action: null;
};
export type ReplayLine = Decision | HookResult | OpenAttempt | OpenHookResult;

export type Replay = {
  /** Folds one line; gives why it is bad, or null. Empty lines are passed over. */
  readonly fold: (line: string) => string | null;
  /** What was decided since the last call, in the order in which attempts ended. */
  readonly take: () => ReplayLine[];
  /** What the file left open. */
  readonly open: () => ReplayLine[];
  /** Moves every clock to `untilMs` and shows all actors there. */
  readonly view: () => { at: string; fleets: Record<string, FleetView> };
};

export type ReplayOptions = {
  /** Holds throughout, in place of the file's own `policy.set`. */
  readonly policies?: PolicySet;
  /** Lines later than this are left out. */
  readonly untilMs?: number;
};

export function createReplay({ policies, untilMs = Number.POSITIVE_INFINITY }: ReplayOptions = {}): Replay {
  const fleets = new Map<string, Fleet>();
  const seqs = new Map<string, number>();
  const lastMs = new Map<string, number>();
  const fleetOf = (name: string): Fleet => {
    const known = fleets.get(name);
    if (known !== undefined) return known;
    const fleet = createFleet(name, policies === undefined ? {} : { policies });
    fleets.set(name, fleet);
    return fleet;
  };

  return {
    fold(line) {
      if (line.trim() === '') return null;
      const parsed = parseLine(line);
      if (typeof parsed === 'string') return parsed;
      const { subject, atMs, fields } = parsed;
      const address = readSubject(subject);
      const name = subject.split('.')[1] ?? '';
      const seq = Math.max(parsed.seq ?? 0, (seqs.get(name) ?? 0) + 1);
      seqs.set(name, seq);
      if (address === null) return null;
      if ('code' in address) return address.message;
      const entry = readFields(address, fields);
      if ('code' in entry) return `${subject}: ${entry.message}`;
      const fleet = fleetOf(name);
      // Also past `untilMs`, where nothing is folded any more: an earlier time after it counts as that one.
      const countsAsMs = Math.max(atMs, lastMs.get(name) ?? atMs);
      lastMs.set(name, countsAsMs);
      if (countsAsMs <= untilMs) foldEntry(fleet, { seq, atMs: countsAsMs, entry });
      return null;
    },
    take: () => [...fleets.values()].flatMap(takeResults),
    open: () => [...fleets.values()].flatMap(openResults),
    view() {
      for (const fleet of fleets.values()) advanceClock(fleet, untilMs);
      return {
        at: formatIsoTime(untilMs),
        fleets: Object.fromEntries([...fleets].map(([name, fleet]) => [name, viewFleet(fleet)])),
      };
    },
  };
}

function takeResults(fleet: Fleet): ReplayLine[] {
  return fleet.outcomes.splice(0).flatMap((outcome): ReplayLine[] => {
    if (outcome.kind === 'decided') return [outcome.decision];
    return outcome.kind === 'validated' ? [outcome.result] : [];
  });
}

function openResults(fleet: Fleet): ReplayLine[] {
  const attempts = [...fleet.open].flatMap((worker): OpenAttempt[] => {
    const attempt = fleet.workers.get(worker)?.snapshot.context.worker.attempt;
    if (attempt == null) return [];
    const waitsFor = attempt.asked === null ? 'hold' : attempt.asked.name;
    const place = {
      fleet: fleet.name,
      worker,
      attempt: attempt.attempt,
      seq: attempt.seq,
      at: formatIsoTime(attempt.atMs),
    };
    return [{ v: 1, ...place, decision: null, state: 'validating', waitsFor }];
  });
  const evaluations = [...fleet.tasks].flatMap(([taskId, { snapshot }]) =>
    snapshot.context.evaluations.map(
      (it): OpenHookResult => ({ fleet: fleet.name, taskId, attempt: it.attempt, action: null }),
    ),
  );
  return [...attempts, ...evaluations];
}

type Line = { readonly subject: string; readonly atMs: number; readonly fields: unknown; readonly seq: number | null };

function parseLine(text: string): Line | string {
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch (error) {
    return `is no JSON: ${(error as Error).message}`;
  }
  if (typeof line !== 'object' || line === null || Array.isArray(line)) return 'is no JSON object';
  const { at, subject, data = {}, seq } = line as Record<string, unknown>;
  const atMs = typeof at === 'string' ? parseIsoTime(at) : null;
  if (atMs === null) {
    const given = typeof at === 'string' ? JSON.stringify(at) : at === undefined ? 'missing' : `a ${typeof at}`;
    return `"at" is no time in ISO 8601 (UTC): ${given}`;
  }
  if (typeof subject !== 'string') return '"subject" is missing';
  if (isTooDeep(data)) return `${subject}: ${tooDeepWords}`;
  // A character is at most three bytes, so that most lines need no counting.
  if (text.length * 3 > payloadBytesMax) {
    const bytes = utf8Length(JSON.stringify(data));
    if (bytes > payloadBytesMax) return `${subject}: the payload has ${bytes} bytes; the limit is ${payloadBytesMax}`;
  }
  return {
    subject,
    atMs,
    fields: data,
    seq: typeof seq === 'number' && Number.isSafeInteger(seq) && seq > 0 ? seq : null,
  };
}

function utf8Length(text: string): number {
  let bytes = 0;
  for (const char of text) {
    const point = char.codePointAt(0) ?? 0;
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  }
  return bytes;
}
