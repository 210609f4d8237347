/** What Qwen Code can do: its column of the table in docs/agents.md. */
import type { Capabilities } from '../shared/capability.ts';

const unit = 'test/unit/agents/qwen.test.ts';
/** With the real program. */
const real = 'test/system/agents/qwen.test.ts';

export const capabilities: Capabilities = {
  title: 'Qwen Code',
  cells: {
    stopEvent: ['`Stop`', real],
    block: ['`decision: block`', real],
    release: ['yes', real],
    blockCap: ['7 blocks', real],
    subAgents: ['ask for themselves', real],
    background: ['stops wait for sub-agents', real],
    plan: ['`todo_write`', real],
    lastMessage: ['yes', unit],
    stopWhenComplete: null,
    stepsGate: ['at `TodoCompleted`', real],
    structuredOutput: ['checked before it is accepted', real],
    resolution: ['with the next prompt', real],
    wake: null,
    waiting: ['permissions', unit],
    answers: ['permissions', 'live'],
    usageLimits: ['`StopFailure`', 'docs'],
    httpHooks: ['yes', real],
    unjudged: ['stderr tells why', real],
    serviceDown: ['stops; a command hook tells the user', real],
    hookTimeout: ['60 s; 600 s over HTTP', 'docs'],
  },
};
