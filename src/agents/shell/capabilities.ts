/** What a script can do with the hook command: its column of the table in docs/agents.md. */
import type { Capabilities } from '../shared/capability.ts';

const unit = 'test/unit/agents/shell.test.ts';
/** Through the real fold. */
const fold = 'test/unit/agents/agents.test.ts';

export const capabilities: Capabilities = {
  title: 'anything, by a command',
  cells: {
    stopEvent: ['when the command is run', unit],
    block: ['`decision: block`', unit],
    release: ['yes', fold],
    blockCap: null,
    subAgents: null,
    background: null,
    plan: ['event `plan`', unit],
    lastMessage: ['as given', unit],
    stopWhenComplete: null,
    stepsGate: null,
    structuredOutput: null,
    resolution: null,
    wake: null,
    waiting: null,
    answers: null,
    usageLimits: null,
    httpHooks: null,
    unjudged: ['stderr tells why', 'test/integration/hook-command/hook.test.ts'],
    serviceDown: null,
    hookTimeout: null,
  },
};
