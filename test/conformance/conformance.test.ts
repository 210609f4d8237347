/** The protocol's cases as data: entries in, decisions out, folded by the function behind `stopgate replay`. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createReplay, parseIsoTime, type ReplayLine } from '../../machines/index.ts';
import { spellTimes, timeOf } from '../support/case-times.ts';

type Json = Record<string, unknown>;
type CaseEntry = { at: string; subject: string; data: Json } | { raw: string };
type View = { at: string } & Record<'workers' | 'tasks' | 'queues', Json>;
type Case = { name: string; policy?: Json; entries: CaseEntry[]; expect: Json[]; views?: View[]; bad?: number[] };

const folder = new URL('.', import.meta.url);
for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
  const { topic, cases } = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as { topic: string; cases: Case[] };
  describe(topic, () => {
    for (const each of cases) {
      it(each.name, () => {
        const { results, bad } = replay(each);
        expectResults(results, each.expect);
        expect(bad).toEqual(each.bad ?? []);
        for (const view of each.views ?? []) expectView(each, view);
      });
    }
  });
}

function replay({ policy, entries }: Case): { results: ReplayLine[]; bad: number[] } {
  const folded = createReplay();
  const bad: number[] = [];
  if (policy !== undefined) expect(folded.fold(policyLine(policy, entries))).toBeNull();
  for (const [index, entry] of entries.entries()) {
    if (folded.fold(lineOf(entry)) !== null) bad.push(index + 1);
  }
  return { results: [...folded.take(), ...folded.open()], bad };
}

function policyLine(policies: Json, entries: CaseEntry[]): string {
  const first = entries.find((entry) => 'at' in entry);
  return lineOf({ at: first?.at ?? '12:00', subject: 'own.fleet.main.policy.set', data: { policies } });
}

function lineOf(entry: CaseEntry): string {
  if ('raw' in entry) return entry.raw;
  const { at, subject, data } = entry;
  const whole = subject.startsWith('!') ? subject.slice(1) : `stopgate.main.${subject}`;
  return JSON.stringify({ at: at === undefined ? undefined : timeOf(at), subject: whole, data: spellTimes(data) });
}

/** In order for each worker and task; between them any order. */
function expectResults(results: ReplayLine[], expected: Json[]): void {
  const rest = [...results];
  for (const part of expected) {
    const index = rest.findIndex((result) => {
      if ('taskId' in part) return 'taskId' in result && result.taskId === part.taskId;
      return 'worker' in result && (part.worker === undefined || part.worker === result.worker);
    });
    expect(index, `nothing was printed for ${JSON.stringify(part)}`).toBeGreaterThanOrEqual(0);
    expectPart(rest.splice(index, 1)[0], part);
  }
  expect(rest).toEqual([]);
}

function expectView({ policy, entries }: Case, { at, ...parts }: View): void {
  const untilMs = parseIsoTime(timeOf(at)) as number;
  const folded = createReplay({ untilMs });
  if (policy !== undefined) folded.fold(policyLine(policy, entries));
  for (const entry of entries) folded.fold(lineOf(entry));
  expectPart(folded.view().fleets.main, parts);
}

/** A subset: what `part` does not name may be anything; a list must have the same length. */
function expectPart(actual: unknown, part: unknown, path = ''): void {
  if (typeof part !== 'object' || part === null) {
    expect(actual, path).toEqual(part);
    return;
  }
  if ('$contains' in part) {
    const members = part.$contains as Json[];
    for (const member of members)
      expect(
        (actual as Json[]).some((it) => matches(it, member)),
        path,
      ).toBe(true);
  } else if ('$oneOf' in part) expect(part.$oneOf, path).toContainEqual(actual);
  else if ('$match' in part) expect(actual, path).toMatch(new RegExp(part.$match as string));
  else if (Array.isArray(part)) {
    expect(actual, path).toHaveLength(part.length);
    for (const [index, member] of part.entries()) expectPart((actual as unknown[])[index], member, `${path}[${index}]`);
  } else {
    for (const [key, member] of Object.entries(part)) {
      if (key === 'guard' && path === '') expect((actual as { verdicts: Json[] }).verdicts.at(-1)?.guard).toBe(member);
      else expectPart((actual as Json)[key], member, `${path}.${key}`);
    }
  }
}

function matches(actual: unknown, part: Json): boolean {
  return Object.entries(part).every(([key, value]) => JSON.stringify((actual as Json)[key]) === JSON.stringify(value));
}
