/** What the hook command knows about OpenCode, whose plugin needs no command: for a person who posts its calls by hand. */
import { type HookAgent, oneOf, withoutNote } from '../../hook-command/agent.ts';

export const hookCommand: HookAgent = {
  stopTimeoutMs: 595_000,
  isStop: oneOf('session.idle'),
  ...withoutNote,
};
