/**
 * The golden logs: one of each released version of the rules folds to the same decisions and states in every release
 * (protocol.md §15). What differs for a log of a released version is a bug; before its release
 * `npx vitest run test/unit/machines/golden-logs.test.ts -u` rewrites what is expected.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createReplay, type FleetView, type ReplayLine, releasedRules } from '../../../machines/index.ts';

const folder = new URL('../../logs/', import.meta.url);
const logs = readdirSync(folder).filter((name) => name.endsWith('.jsonl'));

test('there is one for each version', () => {
  expect(logs).toEqual(releasedRules.map(({ version }) => `rules-${version}.jsonl`));
});

test.each(logs)('%s', async (name) => {
  const replay = createReplay();
  const lines = readFileSync(new URL(name, folder), 'utf8').trimEnd().split('\n');
  const badLines = lines.flatMap((line, index) => (replay.fold(line) === null ? [] : [index + 1]));
  const results = [...replay.take(), ...replay.open()].map(describe);
  const views = Object.values(replay.view().fleets).map(statesOf);
  const states = createHash('sha256').update(JSON.stringify(views)).digest('hex');
  expect(replay.fault()).toBeNull();
  const expected = { entries: lines.length, badLines, states, results };
  await expect(`${JSON.stringify(expected, null, 1)}\n`).toMatchFileSnapshot(
    new URL(name.replace('.jsonl', '.expected.json'), folder).pathname,
  );
});

/** A decision without its texts, which are no rules. */
function describe(line: ReplayLine): string {
  if (!('worker' in line)) return `${line.taskId} ${line.attempt} ${line.action}`;
  if (line.decision === null) return `${line.worker} ${line.attempt} open`;
  const { worker, tasks, attempt, at, decision, action, cause, state, retry, keepAlives, policy, verdicts } = line;
  const counts = `${retry.count}/${retry.max} ${keepAlives.count}/${keepAlives.max}`;
  return `${at} ${worker} [${tasks}] ${attempt} ${decision} ${action} ${cause} ${state} ${counts} ${policy.name}@${policy.seq} ${verdicts.at(-1)?.guard}`;
}

function statesOf({ workers, tasks, queues }: FleetView): unknown {
  return [
    Object.values(workers).map(
      ({
        worker,
        state,
        presence,
        agent,
        tasks: held,
        policy,
        queue,
        retry,
        keepAlives,
        plan,
        calls,
        lastSeen,
        refused,
      }) => [
        ...[worker, state, presence, agent, held, policy, queue, retry, keepAlives, plan, calls, lastSeen],
        refused.map(({ at, type }) => [at, type]),
      ],
    ),
    Object.values(tasks).map(
      ({ task, state, worker, queue, after, outcome, plan, judged, iteration, hooks, checkpoints }) => [
        ...[task, state, worker, queue, after, outcome, plan, judged, iteration, hooks],
        checkpoints.map(({ checkpoint }) => checkpoint),
      ],
    ),
    queues,
  ];
}
