/** What the doctor checks of Qwen Code. */
import { createHookDoctor } from '../doctor/hook-doctor.ts';
import type { BlockCap } from '../doctor/limit-checks.ts';
import { dryTurn } from './dry-turn.ts';
import { hooks } from './settings.ts';

/** It takes a larger one for this. */
const capMax = 100;

const blockCap: BlockCap = {
  /** The eighth is not obeyed. */
  blocks: 7,
  raise: 'set "stopHookBlockingCap" in its settings (retries + 1)',
  configured(hooked, env) {
    const set = hooked.map(({ text }) => /"stopHookBlockingCap"\s*:\s*(\d+)/.exec(text)?.[1]).find(Boolean);
    const cap = Number(env.QWEN_CODE_STOP_HOOK_BLOCK_CAP || set);
    return cap >= 1 ? Math.min(cap, capMax) - 1 : undefined;
  },
};

export const doctor = createHookDoctor(hooks, {
  // A batch of tools that is told to stop only gets an error, so nothing checks after one.
  limits: { stopEvent: 'Stop', checkedEvent: null, timeoutUnitMs: 1_000, blockCap },
  dryTurn,
});
