/** `depth.reported`: unclaimed tasks of a queue that lives elsewhere. */
import { z } from 'zod';

export const depthReported = z.object({ pending: z.int().nonnegative() });
