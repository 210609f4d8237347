/** What Copilot CLI can do: its column of the table in docs/agents.md. */
import type { Capabilities } from '../shared/capability.ts';

const unit = 'test/unit/agents/copilot.test.ts';
/** With the real program: in the table of all headless agents, and alone. */
const turns = 'test/system/agents/plan-turns.test.ts';
const real = 'test/system/agents/copilot.test.ts';

export const capabilities: Capabilities = {
  title: 'Copilot CLI',
  cells: {
    stopEvent: ['`agentStop` or `Stop`', unit],
    block: ['`decision: block`', turns],
    release: ['yes', turns],
    blockCap: ['8 blocks', 'live'],
    subAgents: ['ask at `subagentStop`', real],
    background: ['stops wait for sub-agents', real],
    plan: ['simple SQL on `todos`; otherwise unknown, with a note', turns],
    lastMessage: ['of sub-agents only', unit],
    stopWhenComplete: null,
    stepsGate: null,
    structuredOutput: null,
    resolution: ['by the command that `resolve` prints', turns],
    wake: null,
    waiting: ['permissions', unit],
    answers: null,
    usageLimits: null,
    httpHooks: ['with `COPILOT_HOOK_ALLOW_LOCALHOST=1`', 'live'],
    unjudged: ['nothing is shown: it ignores what else an allowing hook prints', 'live'],
    serviceDown: ['stops without a notice', turns],
    hookTimeout: ['30 s', 'docs'],
  },
};
