/** Simulated check commands: slow, passing, failing, not runnable, or endless. */
import type { RunCheck } from '../../src/host/effects/workspace-check.ts';
import type { Random } from './random.ts';
import type { Process, Scheduler } from './scheduler.ts';

type Where = { readonly scheduler: Scheduler; readonly random: Random };

export function createRunCheck({ scheduler, random }: Where, process: Process): RunCheck {
  const chance = random.fork('run-check');
  return (_request, signal, onStarted) =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve({ outcome: 'error', reason: 'cancelled' }));
      scheduler.after(process, chance.spread(1, 500), () => {
        if (signal.aborted) return;
        onStarted();
        if (chance.chance(0.05)) return;
        scheduler.after(process, chance.spread(5, 2_500), () => {
          const drawn = chance.next();
          if (drawn < 0.55) resolve({ outcome: 'pass' });
          else if (drawn < 0.9) resolve({ outcome: 'fail', reason: `${chance.int(1, 3)} tests failed` });
          else resolve({ outcome: 'error', reason: 'the command cannot be run' });
        });
      });
    });
}
