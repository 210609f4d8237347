/** The fields of a worker's or task's record that decide when it is forgotten (`forgetting.ts`). */
import { field } from '../../values/fields.ts';
import { flag, time, timeOrNull } from '../../values/shapes.ts';

export const forgettableFields = {
  /** Time of the last entry that names it, except `timer.fired`. */
  namedMs: field<number>(0, time),
  /** When it stopped; null if it has not. */
  stoppedMs: field<number | null>(null, timeOrNull),
  /** Whether the deadline to forget it is set. */
  isForgetArmed: field<boolean>(false, flag),
};

export type Forgettable = {
  -readonly [Name in keyof typeof forgettableFields]: (typeof forgettableFields)[Name]['start'];
};
