/** What the doctor checks for Qwen Code. */
import { createHookDoctor } from '../doctor/hook-doctor.ts';
import type { BlockCap } from '../doctor/limit-checks.ts';
import { dryTurn } from './dry-turn.ts';
import { capMax, blockCap as capVariable, hooks } from './settings.ts';

const blockCap: BlockCap = {
  /** The eighth is not obeyed. */
  blocks: 7,
  raise: '--block-cap N',
  /** In the environment, in "env" of its settings, or as a setting of its own, in this order. */
  configured(hooked, env) {
    const setIn = (key: string) =>
      hooked.map(({ text }) => new RegExp(`"${key}"\\s*:\\s*"?(\\d+)`).exec(text)?.[1]).find(Boolean);
    const cap = Number(env[capVariable.name] || setIn(capVariable.name) || setIn('stopHookBlockingCap'));
    return cap >= 1 ? Math.min(cap, capMax) - 1 : undefined;
  },
};

export const doctor = createHookDoctor(hooks, {
  // A batch of tools that is told to stop only gets an error, so nothing checks after one.
  limits: { stopEvent: 'Stop', checkedEvent: null, timeoutUnitMs: 1_000, blockCap },
  dryTurn,
});
