/** `check.started` and `check.finished`: what becomes of a pending check or remote hook (protocol.md §3). */
import { z } from 'zod';
import { checkResultSchema } from '../policy/checks/check-result.ts';
import { idSchema } from '../values/schemas.ts';

/** The check has its place on a runner, and its timeout starts; the first such entry counts. */
export const checkStarted = z.object({ attempt: idSchema, check: idSchema });

export const checkFinished = checkResultSchema;
