/**
 * The schema of a case file for `stopgate test`: entries in, expected decisions out (docs/testing-policies.md). The
 * protocol's own cases have it too.
 */
import { z } from 'zod';

const json = z.record(z.string(), z.unknown());
const time = z.string().describe('time of day, `12:00`, `12:00:30` or `12:00:30.250`, or a full ISO time');

const entry = z
  .strictObject({
    at: time.optional(),
    subject: z
      .string()
      .describe(
        'the subject after `stopgate.<fleet>.`, such as worker.w1.stop.attempted; with a leading !, the whole subject',
      ),
    data: json.default({}).describe('the fields of the entry; "@12:30" is that time of day'),
  })
  .or(z.strictObject({ raw: z.string().describe('a line of a log, used unchanged') }));

const policy = z
  .string()
  .or(json)
  .describe(
    'the policies by name, or the path of a stopgate.yaml, relative to this file; default: the built-in policy',
  );

const policyCase = z.strictObject({
  name: z.string().min(1),
  source: z.string().optional().describe('the origin of the rule'),
  policy: policy.optional(),
  entries: z.array(entry).min(1),
  expect: z.array(json).describe('the expected results in order; each is a subset of a decision or of a hook result'),
  views: z
    .array(z.strictObject({ at: time, workers: json.optional(), tasks: json.optional(), queues: json.optional() }))
    .optional()
    .describe('expected workers, tasks and queues at a time'),
  bad: z.array(z.int().positive()).optional().describe('the entries that must be refused, counted from 1'),
  alone: z.boolean().optional(),
});

export const caseFile = z.strictObject({
  $schema: z.string().optional(),
  topic: z.string().optional(),
  policy: policy.optional().describe('the default for cases without a policy'),
  cases: z.array(policyCase).min(1),
});

export type PolicyCase = z.output<typeof policyCase>;
export type CaseEntry = PolicyCase['entries'][number];

/** The default case file of `stopgate test`. */
export const casesFile = 'stopgate.test.yaml';
