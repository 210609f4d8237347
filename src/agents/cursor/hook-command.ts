/** Cursor for the hook command. Loaded at every call, so keep the imports minimal. */
import { type HookAgent, oneOf, withoutNote } from '../../hook-command/agent.ts';

export const hookCommand: HookAgent = {
  stopTimeoutMs: 55_000,
  isStop: oneOf('stop', 'subagentStop'),
  ...withoutNote,
  block: (reason) => ({ body: { followup_message: reason }, exitCode: 0 }),
};
