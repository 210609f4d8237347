/** Ids: what names a fleet, worker, task, queue, policy, check, hook, runner, attempt or step (protocol 1). */
import { z } from 'zod';
import { idPattern } from './id-pattern.ts';

export const idLengthMax = 128;

export const idSchema = z
  .string()
  .regex(
    idPattern,
    'is no id: it must start with a letter or digit and hold only letters, digits, _ and - (128 at most)',
  );
