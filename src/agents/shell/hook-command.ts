/** Describes a script to the hook command that it calls. */
import { type HookAgent, withoutNote } from '../../hook-command/agent.ts';

export const hookCommand: HookAgent = {
  stopTimeoutMs: 595_000,
  isStop: () => true,
  ...withoutNote,
  // The reason goes to stderr, as with every answer to a script.
  block: (reason) => ({ body: { decision: 'block', reason }, exitCode: 2 }),
  isScript: true,
};
