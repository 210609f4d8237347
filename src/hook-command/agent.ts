/**
 * Describes an agent to the hook command. Each agent gives it in its own folder, as `agents/<name>/hook-command.ts`,
 * and this program loads only the one that it was started for: an agent starts it at every tool call. How a call is
 * read and answered is known to the service alone (src/agents).
 */

export type Answer = {
  /** Printed on stdout. Null: nothing is printed. */
  readonly body: object | null;
  readonly exitCode: 0 | 2;
};

export type HookAgent = {
  /** A little shorter than the agent waits for its hook, so that the agent still hears why nothing was judged. */
  readonly stopTimeoutMs: number;
  /** Does the call ask to stop? Other events are only stored, and never blocked. */
  readonly isStop: (event: string, tool: string) => boolean;
  /** May checks run before the answer? Such an event is not blocked either when no service answers. */
  readonly isChecked?: (event: string) => boolean;
  /** May the call be held for an operator's answer? It waits as long as a stop, and is never blocked. */
  readonly isHeld?: (event: string) => boolean;
  /** The answers to a stop that nobody judged. `note` is for the person, `reason` for the model. */
  readonly allow: (note: string) => Answer;
  readonly block: (reason: string, note: string) => Answer;
  /** Wakes a session when its escalation is resolved (`--wake`); missing if no hook of the agent can do that. */
  readonly wake?: Wake;
  /** A script: `--worker` names it, its call may be empty and is then a stop, and the exit code is its answer. */
  readonly isScript?: true;
};

export type Wake = {
  /** The session that a call belongs to. */
  readonly sessionOf: (call: Fields) => unknown;
  /** The call by which the service learns that the session gets this prompt. `stop`: the call that began the wait. */
  readonly promptCall: (stop: Fields, prompt: string) => object;
  /** The text for the agent in the service's answer to that call. */
  readonly textOf: (answer: Fields) => string | null;
};

export type Fields = Readonly<Record<string, unknown>>;

/** Starts the reason of such a block, by which it is recognised when it comes back as a prompt. */
export const unjudgedText = 'Nobody could judge this stop (';

/** For an event that is only stored. */
export const eventTimeoutMs = 5_000;
/** For an event after which checks may run. */
const checkTimeoutMs = 55_000;

export function answerTimeoutMs(agent: HookAgent, { event, tool }: { event: string; tool: string }): number {
  if (agent.isStop(event, tool) || agent.isHeld?.(event)) return agent.stopTimeoutMs;
  return agent.isChecked?.(event) ? checkTimeoutMs : eventTimeoutMs;
}

export const notJudged = (what: string, why: string, outcome: string): string =>
  `${what} was not judged: ${why}. ${outcome}`;

// --- parts that several agents share --------------------------------------------------------------------------

export const oneOf =
  (...events: readonly string[]) =>
  (event: string): boolean =>
    events.includes(event);

/** For agents that show `systemMessage` to the person. Codex drops a block that has any other key than these three. */
export const withSystemMessage: Pick<HookAgent, 'allow' | 'block'> = {
  allow: (note) => ({ body: { systemMessage: note }, exitCode: 0 }),
  block: (reason, note) => ({ body: { decision: 'block', reason, systemMessage: note }, exitCode: 0 }),
};

/** For agents that show the person nothing. */
export const withoutNote: Pick<HookAgent, 'allow' | 'block'> = {
  allow: () => ({ body: null, exitCode: 0 }),
  block: (reason) => ({ body: { decision: 'block', reason }, exitCode: 0 }),
};
