/** The sequence diagram of a worker: participants and messages. */
import { expect, test } from 'vitest';
import type { TimelineEntry } from '../../../src/inspector/messages.ts';
import { sequenceOf } from '../../../src/inspector/sequence.ts';

let seq = 0;
const entry = (id: string, type: string, more: Partial<TimelineEntry> = {}): TimelineEntry => {
  seq += 1;
  return { seq, atMs: seq, entity: 'worker', id, type, by: 'agent', text: '', data: {}, ...more };
};
const lines = (entries: readonly TimelineEntry[]) =>
  sequenceOf(entries, 'w1').messages.map(({ from, to, type, count }) => `${from} -> ${to}: ${type} ${count}`);

test('each entry is a message between the participants it concerns', () => {
  const service = { by: 'service' } as const;
  expect(
    lines([
      entry('w2', 'worker.registered', { data: { parent: 'w1' } }),
      entry('w1', 'task.claimed', { data: { task: 'T-1' } }),
      entry('w1', 'stop.attempted'),
      entry('w1', 'check.started', { ...service, data: { check: 'unit' } }),
      entry('w1', 'check.finished', { ...service, data: { check: 'unit', outcome: 'fail' } }),
      entry('w1', 'decision', service),
      entry('w1', 'escalation.resolved', { by: 'operator' }),
      entry('T-1', 'hook.registered', { entity: 'task' }),
    ]),
  ).toEqual([
    'worker w1 -> worker w2: worker.registered 1',
    'worker w1 -> task T-1: task.claimed 1',
    'worker w1 -> service stopgate: stop.attempted 1',
    'service stopgate -> check unit: check.started 1',
    'check unit -> service stopgate: check.finished 1',
    'service stopgate -> worker w1: decision 1',
    'operator operator -> worker w1: escalation.resolved 1',
    'task T-1 -> service stopgate: hook.registered 1',
  ]);
});

test('consecutive tool calls are one message, and messages are in log order', () => {
  const [one, other] = [entry('w1', 'tool.used'), entry('w1', 'tool.used')];
  const stop = entry('w1', 'stop.attempted');
  expect(lines([stop, other, one])).toEqual([
    'worker w1 -> service stopgate: tool.used 2',
    'worker w1 -> service stopgate: stop.attempted 1',
  ]);
});

test('lifelines are ordered: people, workers, the service, checks, tasks', () => {
  const { participants } = sequenceOf(
    [
      entry('w1', 'check.finished', { by: 'service', data: { check: 'unit' } }),
      entry('w1', 'task.claimed', { data: { task: 'T-1' } }),
      entry('w1', 'escalation.resolved', { by: 'operator' }),
    ],
    'w1',
  );
  expect(participants.map(({ kind }) => kind)).toEqual(['operator', 'worker', 'service', 'check', 'task']);
});
