/** `check.finished`: the answer to a pending check or remote hook. */
import { checkResultSchema } from '../policy/checks/check-result.ts';

export const checkFinished = checkResultSchema;
