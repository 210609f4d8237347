/** What Cursor can do: its column of the table in docs/agents.md. */
import type { Capabilities } from '../shared/capability.ts';

/** Through the real fold. */
const fold = 'test/unit/agents/agents.test.ts';

export const capabilities: Capabilities = {
  title: 'Cursor',
  cells: {
    stopEvent: ['`stop`', 'docs'],
    block: ['a next prompt (`followup_message`)', 'docs'],
    release: ['yes', fold],
    blockCap: ['5 (`loop_limit`)', 'docs'],
    subAgents: ['ask if they name themselves', 'docs'],
    background: null,
    plan: ['unknown', 'docs'],
    lastMessage: ['no', 'docs'],
    stopWhenComplete: null,
    stepsGate: null,
    structuredOutput: null,
    resolution: ['by the command that `resolve` prints', 'docs'],
    wake: null,
    waiting: null,
    answers: null,
    usageLimits: null,
    httpHooks: ['no', 'docs'],
    unjudged: ['its channel "Hooks" shows why', 'docs'],
    serviceDown: ['stops if the hook fails', 'docs'],
    hookTimeout: null,
  },
};
