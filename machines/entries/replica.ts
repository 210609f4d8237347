/** `replica.*`: running copies of the service come and go. `rules.set`: which rules the log is folded by (protocol.md §15). */
import { z } from 'zod';
import { idSchema } from '../values/schemas.ts';

const version = z.int().positive();

/** `rules`: the first and the last version of the rules that it knows. */
export const replicaJoined = z.object({ replica: idSchema, rules: z.tuple([version, version]).optional() });
export const replicaLeft = z.object({ replica: idSchema });
export const rulesSet = z.object({ version });
