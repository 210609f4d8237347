/** What Codex can do: its column of the table in docs/agents.md. */
import type { Capabilities } from '../shared/capability.ts';

const unit = 'test/unit/agents/codex.test.ts';
/** With the real program. */
const real = 'test/system/agents/codex.test.ts';

export const capabilities: Capabilities = {
  title: 'Codex',
  cells: {
    stopEvent: ['`Stop`', real],
    block: ['`decision: block`, no other key', real],
    release: ['yes', real],
    blockCap: ['none in 12', real],
    subAgents: ['ask for themselves', real],
    background: null,
    plan: ['its goal is one step', real],
    lastMessage: ['yes', unit],
    stopWhenComplete: null,
    stepsGate: null,
    structuredOutput: null,
    resolution: ['by the command that `resolve` prints', real],
    wake: null,
    waiting: ['permissions', real],
    answers: ['permissions', real],
    usageLimits: null,
    httpHooks: ['no: one such hook disables the whole file. `mcp_tool` hooks run', 'live'],
    unjudged: ['its apps show why, `codex exec` does not', 'test/unit/agents/agents.test.ts'],
    serviceDown: ['stops; `codex exec` does not show the notice', real],
    hookTimeout: ['600 s', 'live'],
  },
};
