/** `replica.*`: running copies of the service come and go. */
import { z } from 'zod';
import { idSchema } from '../values/schemas.ts';

export const replicaJoined = z.object({ replica: idSchema });
export const replicaLeft = z.object({ replica: idSchema });
