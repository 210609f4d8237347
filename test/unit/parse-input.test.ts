import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseInput } from '../../src/parse-input.ts';

test.each([
  [{}, 'id: is missing'],
  [{ id: 7 }, 'id: Invalid input: expected string, received number'],
  [[], 'Invalid input: expected object, received array'],
])('of %j it says what is wrong where', (body, message) => {
  expect(() => parseInput(z.object({ id: z.string() }), body)).toThrow(
    expect.objectContaining({ code: 'input.bad', message }),
  );
});
