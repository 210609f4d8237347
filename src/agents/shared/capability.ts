/** What an agent can do, as the rows of the table in docs/agents.md. Each agent's folder holds its own column. */

/**
 * How it is known: a test here, by its file; `live`: seen with the real program, but in no test of ours; `docs`: only
 * documented.
 */
export type Evidence = `test/${string}` | 'live' | 'docs';
/** As Markdown. Null: the agent has nothing of the kind. */
export type Cell = readonly [text: string, shownBy: Evidence] | null;

/** By key, in the order of the table. */
export const capabilityTitles = {
  stopEvent: 'event that asks to stop',
  block: 'answer that blocks',
  release: 'may stop after three blocks',
  blockCap: 'its own cap of blocks',
  subAgents: 'sub-agents',
  background: 'background work',
  plan: 'plan',
  lastMessage: 'last message',
  stopWhenComplete: '`stopWhenComplete`',
  stepsGate: '`steps: gate`',
  structuredOutput: 'structured output',
  resolution: 'learns how an escalation was resolved',
  wake: 'is woken when it is resolved',
  waiting: 'reports that it waits for a person',
  answers: 'an operator can answer for the person (`ask`)',
  usageLimits: 'usage limits',
  httpHooks: 'hooks over HTTP',
  unjudged: 'a stop that could not be judged',
  serviceDown: 'while the service is down',
  hookTimeout: 'a hook may take',
} as const;
export type CapabilityKey = keyof typeof capabilityTitles;

/** An agent's column. */
export type Capabilities = {
  /** The head of the column. */
  readonly title: string;
  readonly cells: Readonly<Record<CapabilityKey, Cell>>;
};
