/**
 * Runs the conformance cases and the recorded histories with the exported machines under plain XState, with
 * the documented facts and without the service (protocol.md §4).
 */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createReplay, type Decision, type FleetView, parseIsoTime } from '../../machines/index.ts';
import { spellTimes, timeOf } from '../support/case-times.ts';
import { type Case, expectResults } from '../support/cases.ts';
import { historyNames, inOrderOf, judgementOf, readHistory, storedDecisions } from '../support/histories.ts';
import { createPlainActors, type PlainActors, type Run, runs } from '../support/plain-actors.ts';

/** Cases that a single machine cannot decide, by topic, with the reason. All others run. */
const unknowable: Record<string, Readonly<Record<string, string>>> = {
  assign: {
    'an unknown policy is skipped, and a verdict says so': 'only the fleet knows which policies exist',
    'a row with an unknown policy is skipped, and the next row applies': 'only the fleet knows which policies exist',
  },
  'claimed-again': {
    'an unknown policy is noted once per place that names it': 'only the fleet knows which policies exist',
  },
  edges: {
    'the unknown policy of a task that is claimed during an attempt is noted':
      'only the fleet knows which policies exist',
  },
  evidence: { 'a repeated claim counts, a refused one does not': 'another worker holds the task' },
  grants: {
    'a task keeps its chosen amount when another worker claims it': 'the fleet says why it escalates a task',
    'an answer without an amount keeps the amount of an earlier answer to the same stop of the fleet':
      'the fleet keeps the usage of the day',
  },
  'plans-of-held-tasks': { 'a list that is too long together with them is refused': 'the fleet bounds a plan' },
  policy: {
    'for an unknown policy, the default applies and a verdict says so': 'only the fleet knows which policies exist',
  },
  forgetting: {
    'a stopped worker is forgotten after seven days': 'the fleet forgets, not the actor',
    'the policies set the time': 'the fleet forgets, not the actor',
    'decision and dead entries do not count': 'the fleet forgets, not the actor',
    'attempt ids are forgotten too': 'the fleet forgets, not the actor',
  },
  limits: { 'a scope applies to all workers that reported it': 'the limit was reported by another worker' },
  tasks: {
    'a task is held by one worker': 'another worker holds the task',
    'a completed task cannot be claimed': 'the task is completed, and it is another actor',
    'a cancelled task cannot be claimed': 'the task is cancelled, and it is another actor',
    'a claim of a task that is not ready is refused': 'it comes after other tasks',
  },
};

/** Histories whose decisions depend on the state of several actors. */
const unknowableHistories: Readonly<Record<string, string>> = {
  'claim-next-with-dependencies': 'another worker holds a task, it is completed, or comes after others',
  'dead-entries': 'the log refuses ids of attempts that look like its own numbers',
  forgetting: 'the fleet forgets, not the actor',
  'release-after-silence': 'the fleet hears that a worker is silent, not its actor',
  'stale-worker-escalated': 'the fleet hears that a worker is silent, not its actor',
  'usage-limit-until': 'the limit was reported by another worker',
};

const folder = new URL('.', import.meta.url);
const files = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .map((file) => JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as { topic: string; cases: Case[] });

describe('the cases, by createActor', () => {
  for (const { topic, cases } of files)
    describe(topic, () => {
      for (const each of cases) {
        const why = unknowable[topic]?.[each.name];
        (why === undefined ? it : it.fails)(
          `${each.name}${why === undefined ? '' : ` (not by a machine: ${why})`}`,
          () => {
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
          },
        );
      }
    });
});

describe.each(Object.entries(runs) as [string, Run][])('the recorded histories, by %s', (_way, run) => {
  for (const name of historyNames()) {
    const why = unknowableHistories[name];
    (why === undefined ? it : it.fails)(`${name}${why === undefined ? '' : ` (not by a machine: ${why})`}`, () => {
      const actors = createPlainActors(run);
      const lines = readHistory(name);
      for (const line of lines) {
        const { at, subject, data, seq } = JSON.parse(line) as {
          at: string;
          subject: string;
          data: unknown;
          seq: number;
        };
        actors.send(parseIsoTime(at) ?? 0, subject.slice('stopgate.main.'.length), data, seq);
      }
      const decided = actors.results.filter((result): result is Decision => 'verdicts' in result);
      const stored = inOrderOf(decided, storedDecisions(lines));
      const known = ({ policy: _, ...judgement }: ReturnType<typeof judgementOf>) => judgement;
      expect(decided.map(judgementOf).map(known)).toEqual(stored.map(judgementOf).map(known));
      const folded = foldLog(lines);
      expect(statesIn(folded, actors)).toEqual(statesIn(folded));
    });
  }
});

const foldLog = (lines: readonly string[]): FleetView => {
  const replay = createReplay();
  for (const line of lines) replay.fold(line);
  return replay.view().fleets.main as FleetView;
};

/** Returns the final states of the actors, from the fold or from plain actors. */
const statesIn = ({ workers, tasks }: FleetView, actors?: PlainActors) => ({
  workers: Object.values(workers).map(({ worker, state, tasks: held }) => {
    const plain = actors?.worker(worker);
    return actors === undefined ? [worker, state, held] : [worker, plain?.state, plain?.tasks];
  }),
  tasks: Object.values(tasks).map(({ task, state, worker }) => {
    const plain = actors?.task(task);
    return actors === undefined ? [task, state, worker] : [task, plain?.state, plain?.worker];
  }),
});

/** Drops open attempts and policy names: plain actors know neither. */
const expected = ({ expect: parts }: Case) =>
  parts.filter((part) => part.decision !== null && part.action !== null).map(({ policy: _, ...part }) => part);
