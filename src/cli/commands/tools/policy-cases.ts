/** Runs a case: folds its entries by the function behind `stopgate replay`, and compares what comes of it. */
import { isDeepStrictEqual } from 'node:util';
import { createReplay, parseIsoTime, type ReplayLine } from '../../../../machines/index.ts';
import type { CaseEntry, PolicyCase } from '../../../config/case-schema.ts';
import type { PolicyForm } from '../../../config/file.ts';
import { AppError } from '../../../errors.ts';

/** `path`: where it is. A side that is not there is undefined. */
export type CaseDifference = { readonly path: string; readonly expected?: unknown; readonly actual?: unknown };

/**
 * @param policies what is in force; null: none was ever set
 * @throws AppError input.bad: the policies are none, or a time is none
 */
export function runCase(given: PolicyCase, policies: PolicyForm | null): CaseDifference[] {
  const differences: CaseDifference[] = [];
  const folded = createReplay();
  const bad = foldAll(folded, given.entries, policies);
  differences.push(...compareResults([...folded.take(), ...folded.open()], given.expect));
  const expectedBad = given.bad ?? [];
  for (const [number, why] of bad)
    if (!expectedBad.includes(number)) differences.push({ path: `entry ${number}`, expected: 'is valid', actual: why });
  for (const number of expectedBad)
    if (!bad.has(number)) differences.push({ path: `entry ${number}`, expected: 'is refused', actual: 'is valid' });
  for (const { at, ...parts } of given.views ?? []) {
    const untilMs = parseIsoTime(spellTime(at));
    if (untilMs === null) throw new AppError('input.bad', `'${at}' is not a time`);
    const until = createReplay({ untilMs });
    foldAll(until, given.entries, policies);
    compare(until.view().fleets.main ?? {}, parts, `at ${at}: `, differences);
  }
  return differences;
}

/** @returns why entries are bad, by their number */
function foldAll(
  { fold }: ReturnType<typeof createReplay>,
  entries: readonly CaseEntry[],
  policies: PolicyForm | null,
): Map<number, string> {
  const first = entries.find((it) => 'subject' in it && it.at !== undefined) as { at: string } | undefined;
  const set = { at: first?.at ?? '12:00', subject: 'own.fleet.main.policy.set', data: { ...policies } };
  const refused = policies === null ? null : fold(lineOf(set));
  if (refused !== null) throw new AppError('input.bad', `the policy is refused: ${refused}`);
  const bad = new Map<number, string>();
  for (const [index, entry] of entries.entries()) {
    const why = fold(lineOf(entry));
    if (why !== null) bad.set(index + 1, why);
  }
  return bad;
}

function lineOf(entry: CaseEntry): string {
  if ('raw' in entry) return entry.raw;
  const { at, subject, data } = entry;
  const whole = subject.startsWith('!') ? subject.slice(1) : `stopgate.main.${subject}`;
  return JSON.stringify({ at: at === undefined ? undefined : spellTime(at), subject: whole, data: spellTimes(data) });
}

/** `12:00`, `12:00:30` and `12:00:30.250` are times of one day; anything else stays. */
export function spellTime(clock: string): string {
  const [, minutes, seconds = ':00', fraction = '.000'] = /^(\d\d:\d\d)(:\d\d)?(\.\d{3})?$/.exec(clock) ?? [];
  return minutes === undefined ? clock : `2026-03-02T${minutes}${seconds}${fraction}Z`;
}

/** `"@12:30"` anywhere in an entry's data is that time as a whole ISO time. */
export function spellTimes(value: unknown): unknown {
  if (typeof value === 'string' && value.startsWith('@')) return spellTime(value.slice(1));
  if (Array.isArray(value)) return value.map(spellTimes);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, spellTimes(member)]));
}

type Json = Readonly<Record<string, unknown>>;

/** In order for each worker and task; between them any order. */
export function compareResults(results: readonly ReplayLine[], expected: readonly Json[]): CaseDifference[] {
  const differences: CaseDifference[] = [];
  const rest = [...results];
  for (const [index, part] of expected.entries()) {
    const path = `${part.taskId === undefined ? 'decision' : 'hook result'} ${index + 1}`;
    const at = rest.findIndex((result) => {
      if ('taskId' in part) return 'taskId' in result && result.taskId === part.taskId;
      return 'worker' in result && (part.worker === undefined || part.worker === result.worker);
    });
    if (at < 0) differences.push({ path, expected: part });
    else compare(rest.splice(at, 1)[0], part, path, differences);
  }
  for (const result of rest) differences.push({ path: 'one more than expected', actual: essenceOf(result) });
  return differences;
}

const essenceOf = (result: ReplayLine): Json => {
  const { worker, taskId, attempt, decision, action, cause, reason } = result as Json;
  return JSON.parse(JSON.stringify({ worker, taskId, attempt, decision, action, cause, reason })) as Json;
};

/** A subset: what `part` does not name may be anything; a list must have the same length. */
function compare(actual: unknown, part: unknown, path: string, found: CaseDifference[]): void {
  const differ = (expected: unknown = part) => void found.push({ path, expected, actual });
  if (typeof part !== 'object' || part === null) {
    if (!Object.is(actual, part)) differ();
  } else if ('$contains' in part) {
    const members = Array.isArray(part.$contains) ? part.$contains : [part.$contains];
    const list = Array.isArray(actual) ? actual : [];
    if (!members.every((member) => list.some((it) => matches(it, member)))) differ();
  } else if ('$oneOf' in part) {
    if (!(Array.isArray(part.$oneOf) && part.$oneOf.some((it) => isDeepStrictEqual(it, actual)))) differ();
  } else if ('$match' in part) {
    if (typeof actual !== 'string' || !patternOf(part.$match).test(actual)) differ();
  } else if (Array.isArray(part)) {
    if (!Array.isArray(actual) || actual.length !== part.length) differ();
    else for (const [index, member] of part.entries()) compare(actual[index], member, `${path}[${index}]`, found);
  } else if (typeof actual !== 'object' || actual === null) differ();
  else {
    for (const [key, member] of Object.entries(part)) {
      const isGuard = key === 'guard' && 'verdicts' in actual;
      const value = isGuard ? (actual.verdicts as Json[]).at(-1)?.guard : (actual as Json)[key];
      compare(value, member, `${path}${path.endsWith(' ') ? '' : '.'}${key}`, found);
    }
  }
}

function matches(actual: unknown, part: unknown): boolean {
  const found: CaseDifference[] = [];
  compare(actual, part, '', found);
  return found.length === 0;
}

/** @throws AppError input.bad */
function patternOf(text: unknown): RegExp {
  try {
    return new RegExp(String(text));
  } catch (cause) {
    throw new AppError('input.bad', `$match '${text}' is not a pattern: ${(cause as Error).message}`, { cause });
  }
}
