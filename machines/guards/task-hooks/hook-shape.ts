/** Schemas of hooks and their answers in snapshots. */
import { z } from 'zod';
import { conditionSchema } from '../../policy/condition.ts';
import { looseObject } from '../../values/schemas.ts';
import { flag, jsonText, lazy, number, numberOrNull, object, text, texts } from '../../values/shapes.ts';

export const hookRun = lazy(() =>
  object({ hook: text, type: text, action: text, reason: text, failed: flag, tookMs: number }),
);

export const judgedTasks = lazy(() =>
  z.array(
    object({
      task: text,
      runs: z.array(hookRun),
      checkpoint: object({ data: jsonText.nullable() }).nullable(),
    }),
  ),
);

export const hookResults = lazy(() =>
  z.record(text, object({ outcome: text, checkpointData: jsonText.nullable(), metadata: jsonText.nullable() })),
);

export const iteration = lazy(() =>
  object({
    iteration: number,
    maxIterations: number,
    completionPromises: texts.nullable(),
    rules: texts.nullable(),
    failuresMax: numberOrNull,
    completed: flag,
    failures: number,
    failed: flag,
  }),
);

const hookForm: z.ZodType = lazy(() =>
  object({
    type: text,
    name: text.optional(),
    when: conditionSchema(looseObject).optional(),
    onError: text.optional(),
    of: z.array(hookForm).optional(),
  }),
);
export const hooks = lazy(() =>
  z.array(object({ hook: text, enabled: flag, form: hookForm, metadata: jsonText.nullable() })),
);
