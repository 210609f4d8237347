/** The screen of `stopgate top`, with and without a connection to the service. */
import { expect, test } from 'vitest';
import type { WorkerView } from '../../../machines/index.ts';
import { draw } from '../../../src/cli/top/draw.ts';
import { emptyModel, withWorkers } from '../../../src/cli/top/model.ts';
import { createColors } from '../../../src/terminal/text.ts';
import { replayLines } from '../../support/fold-lines.ts';

const readMs = Date.UTC(2026, 2, 2, 12, 0, 20);

function workersOf(...entries: readonly [tail: string, data: object][]): WorkerView[] {
  return Object.values(replayLines(...entries).view().fleets.main?.workers ?? {});
}
const asks = workersOf([
  'worker.w1.input.requested',
  { kind: 'permission', request: 'r1', tool: 'Bash', detail: 'make deploy' },
]);
const reading = (workers: readonly WorkerView[]) => withWorkers(emptyModel, { workers, isCut: false, readMs });
const size = { columns: 120, rows: 30 };
const plain = createColors(false);

test('without the service, ages stop and are dimmed, and the head says how old they are', () => {
  const live = draw(reading(asks), 'main', plain, size);
  const lost = { ...reading(asks), fault: 'nobody answers' };
  const [head, counts, _blank, ...body] = draw(lost, 'main', plain, size);
  expect(head).toMatch(/^outdated: nobody answers \(as of 12:00:20 UTC, .* ago\)$/);
  expect(body.join('\n')).toContain('20s ago');
  expect([counts, ...body]).toEqual([live[1], ...live.slice(3)]);
  const colours = createColors(true);
  const painted = draw(lost, 'main', colours, size).slice(3, -1);
  expect(painted).toEqual(body.slice(0, -1).map(colours.dim));
});

test('a long error message leaves room for the time', () => {
  const [head = ''] = draw({ ...reading(asks), fault: 'x'.repeat(200) }, 'main', plain, { ...size, columns: 80 });
  expect(head).toMatch(/… \(as of 12:00:20 UTC, .* ago\)$/);
  expect(head.length).toBeLessThanOrEqual(80);
});

test('shows open requests, and drops answered ones', () => {
  const escalated: [string, object][] = [
    ['own.fleet.main.policy.set', { policies: { default: { promises: true } } }],
    ['worker.w1.stop.attempted', { attempt: 'a1', output: 'Which key? <promise>ESCALATE</promise>' }],
  ];
  const screen = (...more: [string, object][]) =>
    draw(reading(workersOf(...escalated, ...more)), 'main', plain, size).join('\n');
  expect(screen()).toMatch(/escalated 19s ago: Which key\?[\s\S]*a person still has to answer/);
  const resolved = screen(['own.worker.w1.escalation.resolved', { by: 'ann', verdict: 'resume' }]);
  expect(resolved).not.toMatch(/still has to answer|escalated \d+s ago/);
  expect(resolved).toContain('ann resumed it');
  expect(draw(reading(asks), 'main', plain, size).join('\n')).toContain('asks: permission Bash make deploy');
});

test('names commands as they are typed', () => {
  const worker = workersOf(['worker.w1.stop.attempted', { attempt: 'a1' }], ['worker.w1.prompt.submitted', {}]);
  const asTyped = (text: string) => text.replace('stopgate probe', 'npx stopgate probe');
  expect(draw(reading(worker), 'main', plain, size, asTyped).join('\n')).toContain(
    '"npx stopgate probe w1" asks again',
  );
});
