/** What Claude Code can do: its column of the table in docs/agents.md. */
import type { Capabilities } from '../shared/capability.ts';

const unit = 'test/unit/agents/claude-work.test.ts';
/** With the real program. */
const real = 'test/system/agents/claude.test.ts';
const work = 'test/system/agents/claude-work.test.ts';
const wake = 'test/system/agents/claude-wake.test.ts';

export const capabilities: Capabilities = {
  title: 'Claude Code, Agent SDK',
  cells: {
    stopEvent: ['`Stop`', real],
    block: ['`decision: block`', real],
    release: ['yes', real],
    blockCap: ['8 blocks without a tool in between', work],
    subAgents: ['ask for themselves', work],
    background: ['stops wait for it', work],
    plan: ['step by step', real],
    lastMessage: ['yes', unit],
    stopWhenComplete: ['after a batch of tools', work],
    stepsGate: ['at `TaskCompleted`', work],
    structuredOutput: ['checked before it is accepted', work],
    resolution: ['with the next prompt', work],
    wake: ['after `init --wake`; in the SDK by `untilResolved`', wake],
    waiting: ['permissions, questions', unit],
    answers: ['permissions, questions', 'test/system/agents/claude-question.test.ts'],
    usageLimits: ['`StopFailure`', work],
    httpHooks: ['yes, except `SessionStart`', 'live'],
    unjudged: ['the session shows why', 'test/integration/agents/unsolicited-checks.test.ts'],
    serviceDown: ['stops; a command hook tells the user', real],
    hookTimeout: ['600 s', 'docs'],
  },
};
