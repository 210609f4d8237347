/** How the checks of policies have done, if a worker holds tasks with different policies. */
import { expect, test } from 'vitest';
import { createFleet } from '../../../machines/index.ts';
import { createRuleCounts } from '../../../src/inspector/rules/rule-health.ts';
import type { LogMessage } from '../../../src/nats/log/log-reader.ts';

/** All checks judge the same work. */
const metadata = { tree: 'abc' };
const tests = { checks: [{ command: 'tests' }] };

function createLog() {
  const fleet = createFleet('main');
  fleet.showsInputs = true;
  const counts = createRuleCounts();
  let seq = 0;
  const publish = (subject: string, fields: object) => {
    seq += 1;
    const data = new TextEncoder().encode(JSON.stringify(fields));
    const message = { seq, atMs: seq, subject: `stopgate.main.${subject}`, data, header: () => undefined };
    counts.fold(fleet, message as unknown as LogMessage, 0);
  };
  const claim = (task: string, policy: string) => {
    publish(`task.${task}.task.created`, { policy });
    publish('worker.w1.task.claimed', { task });
  };
  const stop = (attempt: string, outcomes: Record<string, string>) => {
    publish('worker.w1.stop.attempted', { attempt });
    for (const [check, outcome] of Object.entries(outcomes))
      publish('own.worker.w1.check.finished', {
        attempt,
        check,
        outcome,
        reason: 'Tests failed',
        tookMs: 10,
        metadata,
      });
  };
  publish('own.fleet.main.policy.set', { policies: { first: tests, second: tests, default: { checks: [] } } });
  publish('worker.w1.worker.registered', {});
  const rows = () =>
    counts
      .report(fleet, 0)
      .rules.map(({ policy, runs, passes, failures, blocks, overturned, medianMs, look }) =>
        [policy, runs, passes, failures, blocks, overturned, medianMs === null ? '-' : 'timed', look].join(' '),
      );
  return { publish, claim, stop, rows };
}

test('each check counts for the policy of the task that it was judged for', () => {
  const { publish, claim, stop, rows } = createLog();
  claim('T-1', 'first');
  claim('T-2', 'second');
  stop('a1', { tests: 'fail' });
  publish('own.worker.w1.worker.paused', { by: 'ada' });
  publish('own.worker.w1.worker.unpaused', { by: 'ada' });
  stop('a2', { tests: 'fail' });
  publish('worker.w1.prompt.submitted', { text: 'go on' });
  stop('a3', { tests: 'pass', 'tests-2': 'pass' });
  expect(rows()).toEqual(['first 3 1 2 2 1 timed flaky', 'second 1 1 0 0 0 timed never failed']);
});

test('checks of different policies are not compared, whatever their name in an attempt', () => {
  const { publish, claim, stop, rows } = createLog();
  claim('T-1', 'first');
  claim('T-2', 'second');
  stop('a1', { tests: 'fail' });
  publish('worker.w1.task.released', { task: 'T-1' });
  stop('a2', { tests: 'pass' });
  expect(rows()).toEqual(['first 1 0 1 1 0 timed always fails', 'second 1 1 0 0 0 timed never failed']);
});

test('with one held task, checks count for its policy', () => {
  const { claim, stop, rows } = createLog();
  claim('T-1', 'second');
  stop('a1', { tests: 'fail' });
  expect(rows()).toEqual(['first 0 0 0 0 0 - never ran', 'second 1 0 1 1 0 timed always fails']);
});
