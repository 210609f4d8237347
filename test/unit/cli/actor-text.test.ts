/** Formats one worker with all its details as text. */
import { expect, test } from 'vitest';
import { createReplay, parseIsoTime, type WorkerView } from '../../../machines/index.ts';
import { formatWorker } from '../../../src/cli/text/actor-text.ts';
import { createColors } from '../../../src/terminal/text.ts';

/** Returns the plan lines of a worker that holds `tasks`. Each task has one step. */
function planLines(tasks: readonly string[]): string[] {
  const replay = createReplay({ untilMs: parseIsoTime('2026-03-02T12:03:00.000Z') as number });
  const fold = (subject: string, data: object) =>
    expect(replay.fold(JSON.stringify({ at: '2026-03-02T12:00:00.000Z', subject, data }))).toBeNull();
  for (const task of tasks) {
    const plan = [{ title: `Step of ${task}`, status: 'pending' }];
    fold(`stopgate.main.task.${task}.task.created`, { plan });
    fold('stopgate.main.worker.w1.task.claimed', { task });
  }
  const view = replay.view().fleets.main?.workers.w1 as WorkerView;
  return formatWorker(view, { timeline: [], prompt: null }, createColors(false), 80).filter((line) =>
    line.startsWith('  ☐'),
  );
}

test('the steps of several tasks name their task; those of one task do not', () => {
  expect(planLines(['T-1', 'T-2'])).toEqual(['  ☐ Step of T-1 · T-1', '  ☐ Step of T-2 · T-2']);
  expect(planLines(['T-1'])).toEqual(['  ☐ Step of T-1']);
});
