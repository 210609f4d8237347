/** What Qwen Code can do: its column of the table in docs/agents.md. */
import type { Capabilities } from '../shared/capability.ts';

const unit = 'test/unit/agents/qwen.test.ts';
/** With the real program: in the table of all headless agents, and alone. */
const turns = 'test/system/agents/plan-turns.test.ts';
const real = 'test/system/agents/qwen.test.ts';

export const capabilities: Capabilities = {
  title: 'Qwen Code',
  cells: {
    stopEvent: ['`Stop`', turns],
    block: ['`decision: block`', turns],
    release: ['yes', turns],
    blockCap: ['7 blocks', real],
    subAgents: ['ask for themselves', real],
    background: ['stops wait for sub-agents', real],
    plan: ['`todo_write`', turns],
    lastMessage: ['yes', unit],
    stopWhenComplete: null,
    stepsGate: ['at `TodoCompleted`', real],
    structuredOutput: ['checked before it is accepted', real],
    resolution: ['with the next prompt', real],
    wake: null,
    waiting: ['permissions', unit],
    answers: ['permissions', 'live'],
    usageLimits: ['`StopFailure`', 'docs'],
    httpHooks: ['yes', turns],
    unjudged: ['stderr tells why', turns],
    serviceDown: ['stops; a command hook tells the user', turns],
    hookTimeout: ['60 s; 600 s over HTTP', 'docs'],
  },
};
