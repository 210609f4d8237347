/** What the doctor checks for Gemini CLI: a hook that crashes must not block it. */
import { bad } from '../doctor/finding.ts';
import { lineOf } from '../doctor/hook-checks.ts';
import { createHookDoctor } from '../doctor/hook-doctor.ts';
import { initCommand } from '../doctor/hooked.ts';
import { dryTurn } from './dry-turn.ts';
import { hooks } from './settings.ts';

export const doctor = createHookDoctor(hooks, {
  // Timeouts are in milliseconds.
  limits: { stopEvent: 'AfterAgent', checkedEvent: 'AfterTool', timeoutUnitMs: 1, blockCap: null },
  dryTurn,
  async checkHooked(hooked) {
    const { file, hooks: ours } = hooked;
    if (ours.every((hook) => /\|\| *(?:exit [01]|true) *$/.test(lineOf(hook)))) return [];
    const text = `${file}: a line does not end in "|| exit 0": if its command crashes, Gemini never stops`;
    return [bad('gemini', text, initCommand('gemini', hooked))];
  },
});
