/** Scripts that call the hook command themselves. */
import { type HookAgent, withoutNote } from '../../hook-command/agent.ts';

export const hookCommand: HookAgent = {
  stopTimeoutMs: 595_000,
  isStop: () => true,
  ...withoutNote,
  // Scripts get the reason on stderr, like every answer.
  block: (reason) => ({ body: { decision: 'block', reason }, exitCode: 2 }),
  isScript: true,
};
