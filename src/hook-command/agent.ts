/**
 * What the hook command needs to know about an agent. Each agent provides it in `agents/<name>/hook-command.ts` or as a
 * row of `agents/table/rows.ts`, and the program loads only the one it needs, because agents start it at every tool
 * call. Only the service knows how to read and answer the calls (src/agents).
 */

export type Answer = {
  /** Printed on stdout. Null: print nothing. */
  readonly body: object | null;
  readonly exitCode: 0 | 2;
};

export type HookAgent = {
  /** A little shorter than the agent's own timeout, so that the agent still learns why nothing was judged. */
  readonly stopTimeoutMs: number;
  /** Whether the call asks to stop. Other events are only stored, and never blocked. */
  readonly isStop: (event: string, tool: string) => boolean;
  /** Whether checks may run before the answer. Such an event is never blocked without a service. */
  readonly isChecked?: (event: string) => boolean;
  /** Whether the call may be held for an operator's answer. It waits as long as a stop, and is never blocked. */
  readonly isHeld?: (event: string) => boolean;
  /** Answers to a stop that nobody judged. `note` is for the person, `reason` for the model. */
  readonly allow: (note: string) => Answer;
  readonly block: (reason: string, note: string) => Answer;
  /** Wakes a session when its escalation is resolved (`--wake`). Missing if the agent's hooks cannot do that. */
  readonly wake?: Wake;
  /** Adds the current folder as `cwd` to a call without one: the agent runs its hooks in the session's folder. */
  readonly addsFolder?: true;
  /** True for a script: `--worker` names it, an empty call means a stop, and the exit code is the answer. */
  readonly isScript?: true;
};

export type Wake = {
  /** The session id in a call. */
  readonly sessionOf: (call: Fields) => unknown;
  /** Creates the call that tells the service about the prompt. @param stop the call that started the wait */
  readonly promptCall: (stop: Fields, prompt: string) => object;
  /** The text for the agent in the reply to that call. */
  readonly textOf: (answer: Fields) => string | null;
};

export type Fields = Readonly<Record<string, unknown>>;

/** Begins the reason of a block without a service, by which we recognise the reason when it comes back as a prompt. */
export const unjudgedText = 'Nobody could judge this stop (';

/** For events that are only stored, and for reading the call from stdin. */
export const eventTimeoutMs = 5_000;
/** For events after which checks may run. */
const checkTimeoutMs = 55_000;

export function answerTimeoutMs(agent: HookAgent, { event, tool }: { event: string; tool: string }): number {
  if (agent.isStop(event, tool) || agent.isHeld?.(event)) return agent.stopTimeoutMs;
  return agent.isChecked?.(event) ? checkTimeoutMs : eventTimeoutMs;
}

export const notJudged = (what: string, why: string, outcome: string): string =>
  `${what} was not judged: ${why}. ${outcome}`;

// --- shared by several agents -----------------------------------------------------------------------------------

export const oneOf =
  (...events: readonly string[]) =>
  (event: string): boolean =>
    events.includes(event);

/** For agents that show `systemMessage` to the person. Codex ignores a block that has any other keys. */
export const withSystemMessage: Pick<HookAgent, 'allow' | 'block'> = {
  allow: (note) => ({ body: { systemMessage: note }, exitCode: 0 }),
  block: (reason, note) => ({ body: { decision: 'block', reason, systemMessage: note }, exitCode: 0 }),
};

/** For agents that cannot show anything to the person. */
export const withoutNote: Pick<HookAgent, 'allow' | 'block'> = {
  allow: () => ({ body: null, exitCode: 0 }),
  block: (reason) => ({ body: { decision: 'block', reason }, exitCode: 0 }),
};
