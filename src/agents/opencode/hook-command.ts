/** OpenCode for the hook command. The plugin does not use it, but a person may post calls by hand. */
import { type HookAgent, oneOf, withoutNote } from '../../hook-command/agent.ts';

export const hookCommand: HookAgent = {
  stopTimeoutMs: 595_000,
  isStop: oneOf('session.idle'),
  ...withoutNote,
};
