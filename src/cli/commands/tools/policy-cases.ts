/** Runs a case: folds its entries like `stopgate replay`, and compares the results with the expected ones. */
import { isDeepStrictEqual } from 'node:util';
import { createReplay, parseIsoTime, type ReplayLine } from '../../../../machines/index.ts';
import type { CaseEntry, PolicyCase } from '../../../config/case-schema.ts';
import type { PolicyForm } from '../../../config/file.ts';
import { AppError } from '../../../errors.ts';

/** `path` is the position in the case. `expected` or `actual` is undefined if that side has nothing there. */
export type CaseDifference = { readonly path: string; readonly expected?: unknown; readonly actual?: unknown };

/**
 * @param policies the policies of the case; null if none were ever set
 * @throws AppError input.bad if the policies or a time are not valid
 */
export function runCase(policyCase: PolicyCase, policies: PolicyForm | null): CaseDifference[] {
  const { entries, expect, bad: expectedBad = [], views = [] } = policyCase;
  const differences: CaseDifference[] = [];
  const folded = createReplay();
  const bad = foldAll(folded, entries, policies);
  differences.push(...compareResults([...folded.take(), ...folded.open()], expect));
  for (const [number, why] of bad)
    if (!expectedBad.includes(number)) differences.push({ path: `entry ${number}`, expected: 'is valid', actual: why });
  for (const number of expectedBad)
    if (!bad.has(number)) differences.push({ path: `entry ${number}`, expected: 'is refused', actual: 'is valid' });
  for (const { at, ...parts } of views) {
    const untilMs = parseIsoTime(toIsoTime(at));
    if (untilMs === null) throw new AppError('input.bad', `'${at}' is not a time`);
    const until = createReplay({ untilMs });
    foldAll(until, entries, policies);
    compare(until.view().fleets.main ?? {}, parts, `at ${at}: `, differences);
  }
  return differences;
}

/** The first entry of each sketch, because checks may look at changed files. */
const change = {
  at: '12:00',
  subject: 'worker.w1.tool.used',
  data: { tool: 'Edit', ok: true, files: ['src/example.js'] },
};
const stop = { at: '12:01', subject: 'worker.w1.stop.attempted', data: { attempt: 'a1' } };
/** More than the checks of any policy that a person would write. */
const checksMax = 40;

/**
 * Makes cases from policies: a stop whose checks all pass, and one whose first check fails, with the decisions that the
 * policies give now.
 */
export const sketchCases = (policies: PolicyForm): PolicyCase[] =>
  (['pass', 'fail'] as const).flatMap((first) => {
    const entries: CaseEntry[] = [change, stop];
    for (let count = 0; count < checksMax; count += 1) {
      const folded = createReplay();
      foldAll(folded, entries, policies);
      const results = [...folded.take(), ...folded.open()];
      const waitsFor = results.flatMap((result) =>
        'waitsFor' in result && result.waitsFor !== 'hold' ? [result.waitsFor] : [],
      )[0];
      if (waitsFor === undefined) return first === 'fail' && count === 0 ? [] : [caseOf(first, entries, results)];
      const outcome = count === 0 ? first : 'pass';
      const data = { attempt: 'a1', check: waitsFor, outcome, ...(outcome === 'fail' && { reason: 'it failed' }) };
      entries.push({ at: '12:02', subject: 'own.worker.w1.check.finished', data });
    }
    throw new AppError('input.bad', `the policy default has more than ${checksMax} checks; write its cases yourself`);
  });

function caseOf(first: 'pass' | 'fail', entries: readonly CaseEntry[], results: readonly ReplayLine[]): PolicyCase {
  const name =
    first === 'pass'
      ? 'a stop after a change, when every check passes'
      : 'a stop after a change, when the first check fails';
  const expect = results.map((result) => {
    const { decision, cause, reason } = result as Json;
    return decision === null ? { decision } : { decision, cause, reason };
  });
  return { name, entries: [...entries], expect };
}

/** @throws AppError input.bad if the policies are not valid */
export function setPolicies(
  { fold }: ReturnType<typeof createReplay>,
  entries: readonly CaseEntry[],
  policies: PolicyForm | null,
): void {
  const first = entries.find((entry) => 'subject' in entry && entry.at !== undefined) as { at: string } | undefined;
  const set = { at: first?.at ?? '12:00', subject: 'own.fleet.main.policy.set', data: { ...policies } };
  const refused = policies === null ? null : fold(lineOf(set));
  if (refused !== null) throw new AppError('input.bad', `the policy is refused: ${refused}`);
}

/** @returns the reasons why entries are bad, by entry number from 1 */
function foldAll(
  folded: ReturnType<typeof createReplay>,
  entries: readonly CaseEntry[],
  policies: PolicyForm | null,
): Map<number, string> {
  setPolicies(folded, entries, policies);
  const bad = new Map<number, string>();
  for (const [index, entry] of entries.entries()) {
    const why = folded.fold(lineOf(entry));
    if (why !== null) bad.set(index + 1, why);
  }
  return bad;
}

export function lineOf(entry: CaseEntry): string {
  if ('raw' in entry) return entry.raw;
  const { at, subject, data } = entry;
  const whole = subject.startsWith('!') ? subject.slice(1) : `stopgate.main.${subject}`;
  return JSON.stringify({ at: at === undefined ? undefined : toIsoTime(at), subject: whole, data: expandTimes(data) });
}

/** Expands `12:00`, `12:00:30` and `12:00:30.250` to times of one fixed day. Returns other texts unchanged. */
export function toIsoTime(clock: string): string {
  const [, minutes, seconds = ':00', fraction = '.000'] = /^(\d\d:\d\d)(:\d\d)?(\.\d{3})?$/.exec(clock) ?? [];
  return minutes === undefined ? clock : `2026-03-02T${minutes}${seconds}${fraction}Z`;
}

/** Replaces `"@12:30"` anywhere in an entry's data by that time in ISO form. */
export function expandTimes(value: unknown): unknown {
  if (typeof value === 'string' && value.startsWith('@')) return toIsoTime(value.slice(1));
  if (Array.isArray(value)) return value.map(expandTimes);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, expandTimes(member)]));
}

type Json = Readonly<Record<string, unknown>>;

/** Compares in order for each worker and each task, but not between them. */
export function compareResults(results: readonly ReplayLine[], expected: readonly Json[]): CaseDifference[] {
  const differences: CaseDifference[] = [];
  const rest = [...results];
  for (const [index, part] of expected.entries()) {
    const path = `${part.taskId === undefined ? 'decision' : 'hook result'} ${index + 1}`;
    const found = rest.findIndex((result) => {
      if ('taskId' in part) return 'taskId' in result && result.taskId === part.taskId;
      return 'worker' in result && (part.worker === undefined || part.worker === result.worker);
    });
    if (found < 0) differences.push({ path, expected: part });
    else compare(rest.splice(found, 1)[0], part, path, differences);
  }
  for (const result of rest) differences.push({ path: 'unexpected', actual: essenceOf(result) });
  return differences;
}

const essenceOf = (result: ReplayLine): Json => {
  const { worker, taskId, attempt, decision, action, cause, reason } = result as Json;
  return JSON.parse(JSON.stringify({ worker, taskId, attempt, decision, action, cause, reason })) as Json;
};

/** Compares a subset: fields missing in `part` may have any value. Lists must have the same length. */
function compare(actual: unknown, part: unknown, path: string, found: CaseDifference[]): void {
  const differ = (expected: unknown = part) => void found.push({ path, expected, actual });
  if (typeof part !== 'object' || part === null) {
    if (!Object.is(actual, part)) differ();
  } else if ('$contains' in part) {
    const members = Array.isArray(part.$contains) ? part.$contains : [part.$contains];
    const list = Array.isArray(actual) ? actual : [];
    if (!members.every((member) => list.some((item) => matches(item, member)))) differ();
  } else if ('$oneOf' in part) {
    if (!(Array.isArray(part.$oneOf) && part.$oneOf.some((value) => isDeepStrictEqual(value, actual)))) differ();
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
    throw new AppError('input.bad', `$match '${text}' is not a valid pattern: ${(cause as Error).message}`, { cause });
  }
}
