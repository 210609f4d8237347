/** What the doctor checks for Copilot CLI. */
import { createHookDoctor } from '../doctor/hook-doctor.ts';
import { dryTurn } from './dry-turn.ts';
import { hooks } from './settings.ts';

export const doctor = createHookDoctor(hooks, {
  limits: { stopEvent: 'agentStop', checkedEvent: null, timeoutUnitMs: 1_000, blockCap: { blocks: 8 } },
  dryTurn,
});
