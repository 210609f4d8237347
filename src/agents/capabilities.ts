/**
 * What each agent can and cannot do, as data. The table in docs/agents.md is generated from it (a test holds the two
 * together), and `init` quotes it.
 */

/**
 * How it is known: a test here, by its file; `live`: seen with the real program, in no test of ours; `docs`: only
 * documented.
 */
export type Evidence = `test/${string}` | 'live' | 'docs';
/** Null: the agent has nothing of the kind. */
export type Cell = readonly [says: string, shownBy: Evidence] | null;

export const agentTitles = {
  claude: 'Claude Code, Agent SDK',
  codex: 'Codex',
  gemini: 'Gemini CLI',
  copilot: 'Copilot CLI',
  cursor: 'Cursor',
  opencode: 'OpenCode',
  shell: 'any, by a command',
} as const;
export type AgentName = keyof typeof agentTitles;
export type Capability = { readonly title: string; readonly cells: Readonly<Record<AgentName, Cell>> };

const inFold = 'test/unit/agents/agents.test.ts';
const testOf = (agent: AgentName): Evidence => `test/unit/agents/${agent}.test.ts`;
/** With the real program. */
const realOf = (agent: AgentName): Evidence => `test/system/agents/${agent}.test.ts`;
const work = 'test/system/agents/claude-work.test.ts';
const wake = 'test/system/agents/claude-wake.test.ts';
const plugin = 'test/integration/agents/opencode-plugin.test.ts';

export const capabilities: readonly Capability[] = [
  {
    title: 'asks at',
    cells: {
      claude: ['`Stop`', realOf('claude')],
      codex: ['`Stop`', realOf('codex')],
      gemini: ['`AfterAgent`', testOf('gemini')],
      copilot: ['`agentStop` or `Stop`', testOf('copilot')],
      cursor: ['`stop`', 'docs'],
      opencode: ['`session.idle`, by a plugin', realOf('opencode')],
      shell: ['when it is run', testOf('shell')],
    },
  },
  {
    title: 'is blocked by',
    cells: {
      claude: ['`decision: block`', realOf('claude')],
      codex: ['`decision: block`, no other key', realOf('codex')],
      gemini: ['`decision: block`', realOf('gemini')],
      copilot: ['`decision: block`', realOf('copilot')],
      cursor: ['a next prompt (`followup_message`)', 'docs'],
      opencode: ['a next prompt, by the plugin', realOf('opencode')],
      shell: ['`decision: block`', testOf('shell')],
    },
  },
  {
    title: 'three blocks, then let go',
    cells: {
      claude: ['yes', realOf('claude')],
      codex: ['yes', realOf('codex')],
      gemini: ['yes', realOf('gemini')],
      copilot: ['yes', realOf('copilot')],
      cursor: ['yes', inFold],
      opencode: ['yes', realOf('opencode')],
      shell: ['yes', inFold],
    },
  },
  {
    title: 'a cap of its own',
    cells: {
      claude: ['8 blocks without a tool between', work],
      codex: ['none in 12', realOf('codex')],
      gemini: ['none in 28', 'live'],
      copilot: ['8 blocks', 'live'],
      cursor: ['5 (`loop_limit`)', 'docs'],
      opencode: ['none', 'live'],
      shell: null,
    },
  },
  {
    title: 'sub-agents',
    cells: {
      claude: ['asked, for themselves', work],
      codex: ['asked, for themselves', realOf('codex')],
      gemini: ['not asked', realOf('gemini')],
      copilot: ['asked at `subagentStop`', realOf('copilot')],
      cursor: ['asked where they name themselves', 'docs'],
      opencode: ['known, not asked', realOf('opencode')],
      shell: null,
    },
  },
  {
    title: 'background work',
    cells: {
      claude: ['stops wait for it', work],
      codex: null,
      gemini: null,
      copilot: ['stops wait for sub-agents', realOf('copilot')],
      cursor: null,
      opencode: null,
      shell: null,
    },
  },
  {
    title: 'plan',
    cells: {
      claude: ['step by step', realOf('claude')],
      codex: ['its goal is one step', realOf('codex')],
      gemini: ['`write_todos`', realOf('gemini')],
      copilot: ['plain SQL on `todos`; else unknown, and noted', realOf('copilot')],
      cursor: ['unknown', 'docs'],
      opencode: ['`todowrite`', realOf('opencode')],
      shell: ['event `plan`', testOf('shell')],
    },
  },
  {
    title: 'last answer',
    cells: {
      claude: ['yes', testOf('claude')],
      codex: ['yes', testOf('codex')],
      gemini: ['of the whole turn', testOf('gemini')],
      copilot: ['of sub-agents only', testOf('copilot')],
      cursor: ['no', 'docs'],
      opencode: ['asked of its server', plugin],
      shell: ['as given', testOf('shell')],
    },
  },
  {
    title: '`stopWhenComplete`',
    cells: {
      claude: ['after a batch of tools', work],
      codex: null,
      gemini: ['after a tool, at most every 2 s', realOf('gemini')],
      copilot: null,
      cursor: null,
      opencode: null,
      shell: null,
    },
  },
  {
    title: '`steps: gate`',
    cells: { ...noneOf(), claude: ['at `TaskCompleted`', work] },
  },
  {
    title: 'structured output',
    cells: { ...noneOf(), claude: ['asked before it is taken', work] },
  },
  {
    title: 'reads how an escalation was resolved',
    cells: {
      claude: ['with the next prompt', work],
      codex: ['by the line that `resolve` prints', realOf('codex')],
      gemini: ['by the line that `resolve` prints', realOf('gemini')],
      copilot: ['by the line that `resolve` prints', realOf('copilot')],
      cursor: ['by the line that `resolve` prints', 'docs'],
      opencode: ['the plugin prompts it', realOf('opencode')],
      shell: null,
    },
  },
  {
    title: 'is woken when it is resolved',
    cells: {
      ...noneOf(),
      claude: ['after `init --wake`; in the SDK by `untilResolved`', wake],
      opencode: ['yes, as long as it runs', realOf('opencode')],
    },
  },
  {
    title: 'waits for a person',
    cells: {
      claude: ['permissions, questions', testOf('claude')],
      codex: ['permissions', 'docs'],
      gemini: ['permissions', 'docs'],
      copilot: ['permissions', testOf('copilot')],
      cursor: null,
      opencode: ['permissions', 'docs'],
      shell: null,
    },
  },
  {
    title: 'usage limits',
    cells: { ...noneOf(), claude: ['`StopFailure`', work], opencode: ['error 429', testOf('opencode')] },
  },
  {
    title: 'hooks over HTTP',
    cells: {
      claude: ['yes, but not `SessionStart`', 'live'],
      codex: ['no: one disables the whole file', 'live'],
      gemini: ['no', 'live'],
      copilot: ['with `COPILOT_HOOK_ALLOW_LOCALHOST=1`', 'live'],
      cursor: ['no', 'docs'],
      opencode: ['the plugin posts', plugin],
      shell: null,
    },
  },
  {
    title: 'with the service down',
    cells: {
      claude: ['stops; a command hook says so', realOf('claude')],
      codex: ['stops; `codex exec` does not show what the hook says', realOf('codex')],
      gemini: ['stops, says so; **without `\\|\\| exit 0` a failing hook may block for ever**', realOf('gemini')],
      copilot: ['stops, says nothing', realOf('copilot')],
      cursor: ['a failing hook: stops', 'docs'],
      opencode: ['stops; said in its log', realOf('opencode')],
      shell: null,
    },
  },
  {
    title: 'a hook may take',
    cells: {
      claude: ['600 s', 'docs'],
      codex: ['600 s', 'live'],
      gemini: ['60 s', 'docs'],
      copilot: ['30 s', 'docs'],
      cursor: null,
      opencode: null,
      shell: null,
    },
  },
];

function noneOf(): Record<AgentName, Cell> {
  return { claude: null, codex: null, gemini: null, copilot: null, cursor: null, opencode: null, shell: null };
}

const marks: Readonly<Record<'live' | 'docs', string>> = { live: ' °', docs: ' \\*' };

/** As Markdown. */
export function renderCapabilities(): string {
  const names = Object.keys(agentTitles) as AgentName[];
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const shown = (cell: Cell) => (cell === null ? '–' : cell[0] + (cell[1] in marks ? marks[cell[1] as 'live'] : ''));
  return [
    line(['', ...names.map((name) => agentTitles[name])]),
    line(['---', ...names.map(() => '---')]),
    ...capabilities.map(({ title, cells }) => line([title, ...names.map((name) => shown(cells[name]))])),
  ].join('\n');
}
