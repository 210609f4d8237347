import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseInput } from '../../../src/service/parse-input.ts';

test.each([
  [{}, 'id: is missing'],
  [{ id: 7 }, 'id: must be a string, not 7'],
  [[], 'the value must be an object, not an empty list'],
])('for %j, it names the position and the problem', (body, message) => {
  expect(() => parseInput(z.object({ id: z.string() }), body)).toThrow(
    expect.objectContaining({ code: 'input.bad', message }),
  );
});
