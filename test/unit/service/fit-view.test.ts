/** A view that is too large for a message is shortened, and lists the shortened fields. */
import { expect, test } from 'vitest';
import { fitView } from '../../../src/service/fit-view.ts';

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

test('a view that fits is unchanged', () => {
  const view = { task: 'T-1', hooks: [{ hook: 'h' }] };
  expect(fitView(1_000, view)).toBe(view);
});

test.each([
  [
    'hooks with large metadata',
    { hooks: numbers(64).map((id) => ({ hook: `h${id}`, metadata: { a: 'x'.repeat(60_000) } })) },
  ],
  ['a thousand long names', { background: numbers(1_000).map((id) => `${id}${'é'.repeat(1_000)}`) }],
  ['one text of emoji', { title: '😀'.repeat(100_000) }],
  ['a map of very many keys', { labels: Object.fromEntries(numbers(30_000).map((id) => [`key${id}`, id])) }],
])('of a view with %s the largest field is cut, and named', (_what, large) => {
  const view = { task: 'T-1', state: 'idle', at: '2026-03-02T12:00:00.000Z', ...large, refused: [{ reason: 'no' }] };
  const fitted = fitView(200_000, view);
  expect(fitted).toMatchObject({
    task: 'T-1',
    state: 'idle',
    at: view.at,
    refused: view.refused,
    cut: Object.keys(large),
  });
  expect(bytesOf(fitted)).toBeLessThanOrEqual(200_000);
  expect(bytesOf(fitted)).toBeGreaterThan(100_000);
});

test('the longest plan keeps every step, with the beginning and the end of its title', () => {
  const plan = numbers(500).map((id) => ({ step: `${id}`, title: `${id}${'x'.repeat(1_990)}end`, status: 'pending' }));
  const fitted = fitView(200_000, { worker: 'w1', plan });
  expect(fitted.plan).toHaveLength(500);
  expect(fitted.plan[499]).toMatchObject({
    step: '499',
    title: expect.stringMatching(/^499x+…x+end$/),
    status: 'pending',
  });
});
