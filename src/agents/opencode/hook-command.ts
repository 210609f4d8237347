/** Describes OpenCode to the hook command, which its plugin does not need: a person may post its calls by hand. */
import { type HookAgent, oneOf, withoutNote } from '../../hook-command/agent.ts';

export const hookCommand: HookAgent = {
  stopTimeoutMs: 595_000,
  isStop: oneOf('session.idle'),
  ...withoutNote,
};
