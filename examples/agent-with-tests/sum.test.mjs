import { equal } from 'node:assert/strict';
import { test } from 'node:test';

test('adds', async () => {
  const { sum } = await import('./sum.mjs');
  equal(sum(2, 3), 5);
});
