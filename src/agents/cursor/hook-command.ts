/** Describes Cursor to the hook command. It is loaded at each call, so it imports nothing more. */
import { type HookAgent, oneOf, withoutNote } from '../../hook-command/agent.ts';

export const hookCommand: HookAgent = {
  stopTimeoutMs: 55_000,
  isStop: oneOf('stop', 'subagentStop'),
  ...withoutNote,
  block: (reason) => ({ body: { followup_message: reason }, exitCode: 0 }),
};
