/** What the hook command knows about a script that calls it. */
import { type HookAgent, withoutNote } from '../../hook-command/agent.ts';

export const hookCommand: HookAgent = {
  stopTimeoutMs: 595_000,
  isStop: () => true,
  ...withoutNote,
  // The reason goes to stderr, as with every answer to a script.
  block: (reason) => ({ body: { decision: 'block', reason }, exitCode: 2 }),
  isScript: true,
};
