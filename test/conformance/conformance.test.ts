/** The protocol's cases as data: entries in, decisions out, folded by the function behind `stopgate replay`. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createReplay, parseIsoTime, type ReplayLine } from '../../machines/index.ts';
import { spellTimes, timeOf } from '../support/case-times.ts';
import { type Case, type CaseEntry, expectPart, expectResults, type Json, type View } from '../support/cases.ts';

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

function expectView({ policy, entries }: Case, { at, ...parts }: View): void {
  const untilMs = parseIsoTime(timeOf(at)) as number;
  const folded = createReplay({ untilMs });
  if (policy !== undefined) folded.fold(policyLine(policy, entries));
  for (const entry of entries) folded.fold(lineOf(entry));
  expectPart(folded.view().fleets.main, parts);
}
