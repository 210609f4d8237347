/** `git: { clean, pushed }`: the worker's repository has nothing uncommitted, nothing unpushed. A runner checks. */
import { z } from 'zod';
import type { CheckKind } from './check.ts';

export const gitCheck: CheckKind<'git'> = {
  form: (object) =>
    object({
      clean: z.boolean().optional().describe('nothing is uncommitted or untracked'),
      pushed: z.boolean().optional().describe('nothing is ahead of the upstream'),
    })
      .refine(({ clean, pushed }) => clean === true || pushed === true, 'git needs clean: true or pushed: true')
      .optional()
      .describe("the state of the repository in the worker's folder"),
  normalize: ({ clean = false, pushed = false }) => ({ kind: 'git', clean, pushed }),
  evaluate: (check) => ({ kind: 'pending', check }),
};
