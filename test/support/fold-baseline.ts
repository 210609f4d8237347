/**
 * The fold baseline: fingerprints of 400 random logs and of the resulting states, for each released version of the
 * rules (`test/logs/random-<version>.txt`). The logs have fingerprints so that a change of their generator is not taken
 * for a change of the fold.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { type Folded, foldLines } from './folded.ts';
import { root } from './markdown.ts';
import { randomLines } from './random-log.ts';

/** 400 logs reach 99.9 % of the code in `machines/` that 1,000 logs reach; 100 logs reach 99.2 %. */
const logsCount = 400;
/** Seeds per line of the baseline. */
const groupSize = 20;
const entriesMax = 120;
/** Hexadecimal digits of a fingerprint: one changed state in 16 million goes unnoticed. */
const digits = 6;

export const groups: readonly number[] = Array.from({ length: logsCount / groupSize }, (_, index) => index);
export const baselineFile = (version: number) => join(root, `test/logs/random-${version}.txt`);

/** The log of a seed, in the format of `stopgate replay`. Version 1 needs no entry (protocol.md §15). */
export function baselineLog(seed: number, version: number): string[] {
  const [lines = []] = fc.sample(randomLines(entriesMax), { numRuns: 1, seed });
  const at = lines[0]?.at;
  const rules = { at, subject: 'stopgate.main.own.fleet.main.rules.set', data: { version } };
  return (version === 1 ? lines : [rules, ...lines]).map((line) => JSON.stringify(line));
}

type Group = { readonly logs: string; readonly states: readonly string[] };

export function foldGroup(group: number, version: number): Group {
  const seeds = Array.from({ length: groupSize }, (_, index) => group * groupSize + index);
  const logs = seeds.map((seed) => baselineLog(seed, version));
  return { logs: fingerprint(logs), states: logs.map((log) => fingerprint(foldLines(log) satisfies Folded)) };
}

const fingerprint = (value: unknown) =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, digits);

export const groupLine = ({ logs, states }: Group) => `${logs} ${states.join('')}`;

/** The lines after the comments, one per group. */
export function readBaseline(version: number): string[] {
  const text = readFileSync(baselineFile(version), 'utf8').trimEnd().split('\n');
  return text.filter((line) => !line.startsWith('#'));
}

/** @returns the difference in a group folded by a version of the rules, or null */
export function compareGroup(group: number, version: number, found: Group, expected: string): string | null {
  const [logs, states = ''] = expected.split(' ');
  const first = group * groupSize;
  if (found.logs !== logs)
    return `the random logs of seeds ${first} to ${first + groupSize - 1} are others: their generator has changed, which says nothing of the fold. Set the baseline in a commit that changes nothing in machines/ (CONTRIBUTING.md, "Change the rules")`;
  const at = found.states.findIndex((it, index) => it !== states.slice(index * digits, (index + 1) * digits));
  if (at < 0) return null;
  return `the log of seed ${first + at} folds to another state under version ${version} of the rules. To see it, compare what "npm run fold:baseline -- --show ${first + at}" prints here and on the last commit that passes (CONTRIBUTING.md, "Change the rules")`;
}
