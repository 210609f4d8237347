/** Entries as short texts: the fields that tell most, in order. */
import { expect, test } from 'vitest';
import { describeEntry } from '../../../machines/index.ts';

test.each([
  ['task.completed', { task: 't1', result: 'done', other: 1 }, 't1  done'],
  ['tool.used', { tool: 'Bash', ok: false, files: ['a', 'b'] }, 'Bash (failed), files a b'],
  ['plan.updated', { steps: [{ status: 'completed' }, {}] }, '1 of 2 steps done'],
  ['heartbeat.sent', { any: 1 }, ''],
  ['worker.moved', { cwd: '/srv/app' }, 'to /srv/app'],
  ['worker.paused', { by: 'Ann', forMs: 1_800_000 }, 'by Ann, for 30m'],
  ['worker.paused', { by: 'Ann' }, 'by Ann, until the session ends'],
  ['worker.paused', { by: 'Ann', forMs: 'soon' }, 'by Ann, for soon'],
  ['worker.unpaused', { by: 'Ann' }, 'by Ann'],
  ['usage.reported', { model: 'm-1', input: 400, usd: 0.0006000000000000001 }, 'm-1  input 400  usd 0.0006'],
  ['not.known', { any: 1 }, '{"any":1}'],
  ['not.known', {}, ''],
  ['stop.attempted', 'no object', 'not a JSON object: no object'],
] as const)('%s', (type, data, text) => {
  expect(describeEntry(type, data)).toBe(text);
});

test('the reader chooses the separator of fields', () => {
  expect(describeEntry('task.created', { title: 'Fix it', queue: 'main' }, ' · ')).toBe('Fix it · main');
});

// Root cause: rows were looked up in a plain object, and the type of an entry is whatever its sender put there. A
// message on `stopgate.main.worker.w1.constructor` ended `stopgate tail`.
test('describes a type named like a member of Object.prototype as usual', () => {
  expect(describeEntry('constructor', { any: 1 })).toBe('{"any":1}');
});
