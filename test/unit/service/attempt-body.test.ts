/** The body of an attempt is checked before anything is stored or judged (protocol.md §5). */
import { expect, test } from 'vitest';
import type { Host } from '../../../src/host/host.ts';
import { decide, readAttempt } from '../../../src/service/decide.ts';

const deep = (depth: number): object => (depth === 0 ? {} : { more: deep(depth - 1) });
const bad: readonly [what: string, worker: string, body: object, error: object][] = [
  ['an id that is none', 'a.b', {}, { code: 'input.bad', message: expect.stringContaining("'a.b' is not the id") }],
  ['a body that is nested too deep', 'w1', deep(200), { code: 'input.bad', message: expect.stringContaining('deep') }],
  ['a body that is too large', 'w1', { output: 'x'.repeat(70_000) }, { code: 'entry.large' }],
  ['a field of a wrong type', 'w1', { attempt: 7 }, { code: 'input.bad' }],
];

test.each(bad)('decide refuses %s, and stores nothing', async (_what, worker, body, error) => {
  const host = { attempt: () => expect.unreachable('it must not be stored') } as unknown as Host;
  await expect(decide(host, worker, body)).rejects.toMatchObject(error);
});

test.each(bad)('probe and verify refuse %s', (_what, worker, body, error) => {
  expect(() => readAttempt(worker, body)).toThrow(expect.objectContaining(error));
});
