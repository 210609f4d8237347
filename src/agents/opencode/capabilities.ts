/** What OpenCode can do: its column of the table in docs/agents.md. */
import type { Capabilities } from '../shared/capability.ts';

const unit = 'test/unit/agents/opencode.test.ts';
/** With the real program. */
const real = 'test/system/agents/opencode.test.ts';
const plugin = 'test/integration/agents/opencode-plugin.test.ts';

export const capabilities: Capabilities = {
  title: 'OpenCode',
  cells: {
    stopEvent: ['`session.idle`, by a plugin', real],
    block: ['a next prompt, by the plugin', real],
    release: ['yes', real],
    blockCap: ['none', 'live'],
    subAgents: ['known, but do not ask', real],
    background: null,
    plan: ['`todowrite`', real],
    lastMessage: ['fetched from its server', plugin],
    stopWhenComplete: null,
    stepsGate: null,
    structuredOutput: null,
    resolution: ['by a prompt of the plugin', real],
    wake: ['yes, while it runs', real],
    waiting: ['permissions, questions', real],
    answers: ['permissions, questions', real],
    usageLimits: ['error 429', unit],
    httpHooks: ['the plugin posts', plugin],
    unjudged: ['its log tells why', plugin],
    serviceDown: ['stops, with a notice in its log', real],
    hookTimeout: null,
  },
};
