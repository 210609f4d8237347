/** Runs a task with hooks through an iteration in virtual time. */
import type { HookResult } from '../../../machines/index.ts';
import { createVirtualLog } from '../virtual-log.ts';

export type HookForm = { readonly type: string; readonly [key: string]: unknown };

/** Hooks `h1`, `h2`, … on task `T`, at 12:00; `iteration` are the fields of `iteration.started`. */
export function iterate(hooks: readonly HookForm[], iteration: object = {}) {
  const log = createVirtualLog();
  for (const [index, hook] of hooks.entries())
    log.publish('12:00', 'task.T.hook.registered', { hook: `h${index + 1}`, ...hook });
  const started = { iteration: 1, maxIterations: 20, ...iteration };
  log.publish('12:00', 'task.T.iteration.started', started);
  return {
    ...log,
    /** Returns the result of the hooks at 12:01. */
    evaluate: (work: object = {}) =>
      log.validate('12:01', 'T', { iteration: started.iteration, ...work }) as HookResult,
    /** Returns `complete`, `continue` or `escalate` at 12:01. */
    action: (work: object = {}) => log.validate('12:01', 'T', { iteration: started.iteration, ...work })?.action,
  };
}

/** Returns an output with these promises. */
export const promises = (...names: readonly string[]) => ({
  output: names.map((name) => `<promise>${name}</promise>`).join(' '),
});

/** Validation results of `rule1`, `rule2`, … */
export const rules = (...passed: readonly boolean[]) => ({
  validation: passed.map((rule, index) => ({ rule: `rule${index + 1}`, passed: rule })),
});
