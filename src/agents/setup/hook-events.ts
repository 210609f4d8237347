/** Hook events and their timeouts. Has no imports, because the Agent SDK's callbacks load it too. */

export type HookEvent = {
  readonly name: string;
  readonly isStop: boolean;
  /** The hook's timeout. */
  readonly seconds: number;
};

/** Long, because a stop may be held and its checks may be slow. */
export const stopSeconds = 600;
/** For events after which checks may run. They come with every tool, so they must not take as long as a stop. */
export const checkSeconds = 60;
const eventSeconds = 10;
/** The hook command and curl give up this much earlier than the agent, so that they can report it. */
export const marginSeconds = 5;

/** Events that are only stored. */
export const storedEvents = (...names: readonly string[]): HookEvent[] =>
  names.map((name) => ({ name, isStop: false, seconds: eventSeconds }));
/** Events after which checks may run. */
export const checkedEvents = (...names: readonly string[]): HookEvent[] =>
  names.map((name) => ({ name, isStop: false, seconds: checkSeconds }));
export const stopEvents = (...names: readonly string[]): HookEvent[] =>
  names.map((name) => ({ name, isStop: true, seconds: stopSeconds }));
