/** The events that a hook is written for, and how long the hook may take. Light: the Agent SDK's callbacks import it too. */

export type HookEvent = {
  readonly name: string;
  readonly isStop: boolean;
  /** The hook may take this long. */
  readonly seconds: number;
};

/** A stop may be held, and its checks take their time. */
export const stopSeconds = 600;
/** Checks may run after such an event. It comes with every tool, so it must not take as long as a stop. */
export const checkSeconds = 60;
const eventSeconds = 10;
/** The hook command and curl give up a little before the agent would. */
export const marginSeconds = 5;

/** Events that are only stored. */
export const storedEvents = (...names: readonly string[]): HookEvent[] =>
  names.map((name) => ({ name, isStop: false, seconds: eventSeconds }));
/** Events after which checks may run. */
export const checkedEvents = (...names: readonly string[]): HookEvent[] =>
  names.map((name) => ({ name, isStop: false, seconds: checkSeconds }));
export const stopEvents = (...names: readonly string[]): HookEvent[] =>
  names.map((name) => ({ name, isStop: true, seconds: stopSeconds }));
