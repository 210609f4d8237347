/**
 * What the command hook knows of each agent: for how long it waits, which events ask for a leave to stop, and the words
 * for "not judged" in the agent's own form. How a call is read and answered is the service's matter (src/agents).
 */

export type Answer = {
  /** Printed on stdout; null: nothing. */
  readonly body: object | null;
  readonly exitCode: 0 | 2;
};
export type HookAgent = {
  /** The agent waits for 10 s to 600 s; ours is a little shorter, so that it hears why. */
  readonly stopTimeoutMs: number;
  /** The events that are judged: the others are only told, and never blocked. */
  readonly isStop: (event: string, tool: string) => boolean;
  /** The events that may be answered after checks have run; they are never blocked for want of a service. */
  readonly isLook?: (event: string) => boolean;
  /** `note` is for the person, `reason` for the model. */
  readonly allow: (note: string) => Answer;
  readonly block: (reason: string, note: string) => Answer;
};

/** Begins the reason of such a block, by which it is known again when it comes back as a prompt. */
export const unjudgedText = 'Nobody could judge this stop (';

const nothing: Answer = { body: null, exitCode: 0 };
const named =
  (...events: readonly string[]) =>
  (event: string) =>
    events.includes(event);

const claudeStops = named('Stop', 'SubagentStop', 'TaskCompleted');

/** `systemMessage` is shown to the person; Codex drops a block that has any key but these three. */
const withMessage: Pick<HookAgent, 'allow' | 'block'> = {
  allow: (note) => ({ body: { systemMessage: note }, exitCode: 0 }),
  block: (reason, note) => ({ body: { decision: 'block', reason, systemMessage: note }, exitCode: 0 }),
};

export const hookAgents: ReadonlyMap<string, HookAgent> = new Map([
  [
    'claude',
    {
      stopTimeoutMs: 595_000,
      isStop: (event: string, tool: string) =>
        claudeStops(event) || (event === 'PreToolUse' && tool === 'StructuredOutput'),
      isLook: named('PostToolBatch'),
      ...withMessage,
    },
  ],
  ['codex', { stopTimeoutMs: 595_000, isStop: named('Stop', 'SubagentStop'), ...withMessage }],
  ['gemini', { stopTimeoutMs: 595_000, isStop: named('AfterAgent'), isLook: named('AfterTool'), ...withMessage }],
  [
    'copilot',
    {
      // Its default timeout of 30 s; `init` writes a longer one into both places.
      stopTimeoutMs: 28_000,
      isStop: named('agentStop', 'subagentStop', 'Stop', 'SubagentStop'),
      allow: () => nothing,
      block: (reason) => ({ body: { decision: 'block', reason }, exitCode: 0 }),
    },
  ],
  [
    'cursor',
    {
      stopTimeoutMs: 55_000,
      isStop: named('stop', 'subagentStop'),
      allow: () => nothing,
      block: (reason) => ({ body: { followup_message: reason }, exitCode: 0 }),
    },
  ],
  [
    'opencode',
    {
      stopTimeoutMs: 595_000,
      isStop: named('session.idle'),
      allow: () => nothing,
      block: (reason) => ({ body: { decision: 'block', reason }, exitCode: 0 }),
    },
  ],
  [
    'shell',
    {
      stopTimeoutMs: 595_000,
      isStop: () => true,
      allow: () => nothing,
      // The reason goes to stderr, as every answer to a shell.
      block: (reason) => ({ body: { decision: 'block', reason }, exitCode: 2 }),
    },
  ],
]);

/** For an event that is only told. */
export const tellTimeoutMs = 5_000;
/** For one after which checks may run. */
const lookTimeoutMs = 55_000;

export function patienceMs(agent: HookAgent, { event, tool }: { event: string; tool: string }): number {
  if (agent.isStop(event, tool)) return agent.stopTimeoutMs;
  return agent.isLook?.(event) ? lookTimeoutMs : tellTimeoutMs;
}

export const notJudged = (what: string, why: string, outcome: string): string =>
  `${what} was not judged (cause unknown): ${why}. ${outcome}`;
