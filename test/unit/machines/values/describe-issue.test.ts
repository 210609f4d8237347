/** A sentence about a wrong value names its field, the allowed values, and the value. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { describeIssues, toIssues } from '../../../../machines/index.ts';

const schema = z.object({
  title: z.string().min(1).max(5).optional(),
  count: z.int().min(1).max(9).optional(),
  share: z.number().gt(0).optional(),
  done: z.boolean().optional(),
  state: z.enum(['open', 'done']).optional(),
  only: z.literal('all').optional(),
  steps: z
    .array(z.object({ step: z.string() }))
    .max(2)
    .optional(),
  labels: z.record(z.string(), z.string()).optional(),
  wait: z.union([z.int().max(9), z.string().regex(/^\d+s$/, 'is not a duration: write 5s')]).optional(),
  after: z.union([z.string().regex(/^a/, 'does not begin with a'), z.string().regex(/^b/)]).optional(),
  of: z.strictObject({ a: z.string() }).optional(),
  limit: z.union([z.literal('none'), z.int().max(9)]).optional(),
  source: z.union([z.string(), z.object({ url: z.string() })]).optional(),
});

const describe = (value: unknown) => {
  const { error } = schema.safeParse(value);
  return error === undefined ? null : describeIssues(toIssues(error, value));
};

test.each([
  [{ title: 5 }, 'title: must be a string, not 5'],
  [{ title: '' }, 'title: must have at least 1 character, not ""'],
  [{ title: 'x'.repeat(50) }, `title: must have at most 5 characters, not "${'x'.repeat(40)}"…`],
  [{ count: '3' }, 'count: must be a number, not "3"'],
  [{ count: 1.5 }, 'count: must be a whole number, not 1.5'],
  [{ count: 0 }, 'count: must be at least 1, not 0'],
  [{ share: 0 }, 'share: must be more than 0, not 0'],
  [{ done: 'yes' }, 'done: must be true or false, not "yes"'],
  [{ state: 'nope' }, 'state: must be one of "open", "done", not "nope"'],
  [{ only: 'some' }, 'only: must be "all", not "some"'],
  [{ steps: {} }, 'steps: must be a list, not an object'],
  [{ steps: [7] }, 'steps.0: must be an object, not 7'],
  [{ steps: [{}] }, 'steps.0.step: is missing'],
  [{ steps: [{ step: '1' }, { step: '2' }, { step: '3' }] }, 'steps: must have at most 2 items, not a list'],
  [{ labels: { a: null } }, 'labels.a: must be a string, not null'],
  [{ wait: true }, 'wait: must be a number or a string, not true'],
  [{ wait: 10 }, 'wait: must be at most 9, not 10'],
  [{ wait: 'soon' }, 'wait: is not a duration: write 5s'],
  [{ after: 'c' }, 'after: does not begin with a'],
  [{ limit: 10 }, 'limit: must be at most 9, not 10'],
  [{ limit: 'all' }, 'limit: must be "none" or a number, not "all"'],
  [{ source: { url: 5 } }, 'source.url: must be a string, not 5'],
  [{ of: { a: 'b', c: 1 } }, 'of: has unknown fields: "c"'],
  [[], 'the value must be an object, not an empty list'],
  [{ title: 5, count: 0 }, 'title: must be a string, not 5; count: must be at least 1, not 0'],
])('%o: %s', (value, text) => {
  expect(describe(value)).toBe(text);
});
