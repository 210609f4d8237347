/** What Gemini CLI can do: its column of the table in docs/agents.md. */
import type { Capabilities } from '../shared/capability.ts';

const unit = 'test/unit/agents/gemini.test.ts';
/** With the real program: in the table of all headless agents, and alone. */
const turns = 'test/system/agents/plan-turns.test.ts';
const real = 'test/system/agents/gemini.test.ts';

export const capabilities: Capabilities = {
  title: 'Gemini CLI',
  cells: {
    stopEvent: ['`AfterAgent`', unit],
    block: ['`decision: block`', turns],
    release: ['yes', turns],
    blockCap: ['none in 28', 'live'],
    subAgents: ['do not ask', real],
    background: null,
    plan: ['`write_todos`', turns],
    lastMessage: ['of the whole turn', unit],
    stopWhenComplete: ['after a tool, at most every 2 s', real],
    stepsGate: null,
    structuredOutput: null,
    resolution: ['by the command that `resolve` prints', real],
    wake: null,
    waiting: ['permissions', 'docs'],
    answers: null,
    usageLimits: null,
    httpHooks: ['no', 'live'],
    unjudged: ['the session shows why', 'test/unit/agents/agents.test.ts'],
    serviceDown: ['stops and tells the user; **without `\\|\\| exit 0` a failing hook may block for ever**', turns],
    hookTimeout: ['60 s', 'docs'],
  },
};
