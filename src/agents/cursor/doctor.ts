/** What the doctor checks for Cursor. */
import { createHookDoctor } from '../doctor/hook-doctor.ts';
import type { BlockCap } from '../doctor/limit-checks.ts';
import { hooks } from './settings.ts';

const stopEvent = 'stop';

const blockCap: BlockCap = {
  blocks: 5,
  /** `loop_limit` of the stop's hook. Null: no cap. */
  configured(hooked) {
    const limit = hooked.flatMap((one) => one.hooks).find(({ event }) => event === stopEvent)?.value.loop_limit;
    return limit === null ? Number.POSITIVE_INFINITY : typeof limit === 'number' ? limit : undefined;
  },
  raise: '"loop_limit" of the hook in its settings',
};

export const doctor = createHookDoctor(hooks, {
  limits: { stopEvent, checkedEvent: null, timeoutUnitMs: null, blockCap },
  dryTurn: null,
});
