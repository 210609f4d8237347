/** The protocol's cases by the exported machines under plain `createActor`, with documented facts (protocol.md §4). */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'vitest';
import { parseIsoTime } from '../../machines/index.ts';
import { spellTimes, timeOf } from '../support/case-times.ts';
import { type Case, expectResults } from '../support/cases.ts';
import { createPlainActors } from '../support/plain-actors.ts';

/** What no machine knows alone; by topic. Everything else is run. */
const unknowable: Record<string, readonly string[]> = {
  // Which names a set of policies has is nothing that the policy in the facts says.
  assign: [
    'an unknown name is passed over, and a verdict says so',
    'a row with an unknown policy is passed over, the next one binds',
  ],
  policy: ['an unknown policy is the default, and says so'],
  forgetting: [
    'a stopped worker is forgotten after seven days',
    'a set of policies names the time',
    'decision and dead entries do not count',
    'attempt ids are forgotten too',
  ],
  limits: ['a scope is shared by all that reported it'],
  // Claims that are refused for what another actor holds or has done.
  tasks: [
    'a task is held by one worker',
    'a completed task cannot be claimed',
    'a cancelled task cannot be claimed',
    'a claim before its time is refused',
  ],
};

const folder = new URL('.', import.meta.url);
for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
  const { topic, cases } = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as { topic: string; cases: Case[] };
  describe(topic, () => {
    for (const each of cases) {
      const run = unknowable[topic]?.includes(each.name) ? it.fails : it;
      run(each.name, () => {
        const actors = createPlainActors();
        const first = each.entries.find((entry) => 'at' in entry);
        const policy = {
          at: first?.at ?? '12:00',
          subject: 'own.fleet.main.policy.set',
          data: { policies: each.policy },
        };
        for (const entry of each.policy === undefined ? each.entries : [policy, ...each.entries]) {
          if ('raw' in entry || entry.subject.startsWith('!')) continue;
          actors.send(parseIsoTime(timeOf(entry.at)) ?? 0, entry.subject, spellTimes(entry.data));
        }
        expectResults(actors.results as never, expected(each));
      });
    }
  });
}

/** An attempt that stays open gives nothing, and the name of a policy is its place in a set. */
const expected = ({ expect: parts }: Case) =>
  parts.filter((it) => it.decision !== null && it.action !== null).map(({ policy: _, ...part }) => part);
