/** Checks the table in docs/agents/capabilities.md: every claim without a mark has a test that shows it. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { agents } from '../../../src/agents/index.ts';

const root = new URL('../../../', import.meta.url);

/** By column of the table: the rows that each test file proves. */
const shownBy: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'Claude Code, Agent SDK': {
    'test/system/agents/usage.test.ts': ['reports usage ([`--usage`](usage.md))', 'stops when its budget is used up'],
    'test/system/agents/claude.test.ts': [
      'stop event',
      'blocking answer',
      "stops at the policy's cap (three blocks)",
      'plan',
      'behaviour while the service is down',
    ],
    'test/system/agents/claude-work.test.ts': [
      'block limit of the agent itself',
      'sub-agents',
      'background work',
      '`stopWhenComplete`',
      'feedback of checks after tools (`stopWhenComplete`)',
      '`steps: gate`',
      'structured output',
      'learns the resolution of an escalation',
      'usage limits',
    ],
    'test/unit/agents/claude-work.test.ts': [
      'last message',
      'reports that it waits for a person',
      'reports the start of a tool (a long tool does not make the worker stale)',
    ],
    'test/system/agents/claude-wake.test.ts': ['wakes when its escalation is resolved'],
    'test/system/agents/claude-question.test.ts': ['operator can answer for the person (`ask`)'],
    'test/integration/agents/unsolicited-checks.test.ts': ['notice of an unjudged stop'],
  },
  Codex: {
    'test/system/agents/usage.test.ts': ['reports usage ([`--usage`](usage.md))'],
    'test/system/agents/codex.test.ts': [
      'stop event',
      'blocking answer',
      "stops at the policy's cap (three blocks)",
      'block limit of the agent itself',
      'sub-agents',
      'plan',
      'learns the resolution of an escalation',
      'reports that it waits for a person',
      'operator can answer for the person (`ask`)',
      'behaviour while the service is down',
    ],
    'test/unit/agents/codex.test.ts': ['last message'],
    'test/unit/agents/agents.test.ts': ['notice of an unjudged stop'],
  },
  'Gemini CLI': {
    'test/system/agents/usage.test.ts': ['reports usage ([`--usage`](usage.md))', 'stops when its budget is used up'],
    'test/unit/agents/gemini.test.ts': ['stop event', 'last message'],
    'test/system/agents/plan-turns.test.ts': [
      'blocking answer',
      "stops at the policy's cap (three blocks)",
      'plan',
      'behaviour while the service is down',
    ],
    'test/system/agents/gemini.test.ts': ['sub-agents', '`stopWhenComplete`', 'learns the resolution of an escalation'],
    'test/unit/agents/agents.test.ts': ['notice of an unjudged stop'],
  },
  'Copilot CLI': {
    'test/system/agents/usage.test.ts': ['reports usage ([`--usage`](usage.md))'],
    'test/unit/agents/copilot.test.ts': ['stop event', 'last message', 'reports that it waits for a person'],
    'test/system/agents/plan-turns.test.ts': [
      'blocking answer',
      "stops at the policy's cap (three blocks)",
      'plan',
      'learns the resolution of an escalation',
      'behaviour while the service is down',
    ],
    'test/system/agents/copilot.test.ts': ['sub-agents', 'background work'],
  },
  'Qwen Code': {
    'test/system/agents/usage.test.ts': ['reports usage ([`--usage`](usage.md))', 'stops when its budget is used up'],
    'test/system/agents/plan-turns.test.ts': [
      'stop event',
      'blocking answer',
      "stops at the policy's cap (three blocks)",
      'plan',
      'HTTP hooks',
      'notice of an unjudged stop',
      'behaviour while the service is down',
    ],
    'test/system/agents/qwen.test.ts': [
      'block limit of the agent itself',
      'sub-agents',
      'background work',
      '`steps: gate`',
      'structured output',
      'learns the resolution of an escalation',
    ],
    'test/unit/agents/qwen.test.ts': [
      'last message',
      'reports that it waits for a person',
      'reports the start of a tool (a long tool does not make the worker stale)',
    ],
  },
  OpenCode: {
    'test/system/agents/opencode.test.ts': [
      'stop event',
      'blocking answer',
      "stops at the policy's cap (three blocks)",
      'sub-agents',
      'plan',
      'learns the resolution of an escalation',
      'wakes when its escalation is resolved',
      'reports that it waits for a person',
      'operator can answer for the person (`ask`)',
      'behaviour while the service is down',
    ],
    'test/integration/agents/opencode-plugin.test.ts': [
      'last message',
      'reports the start of a tool (a long tool does not make the worker stale)',
      'HTTP hooks',
      'notice of an unjudged stop',
    ],
    'test/unit/agents/opencode.test.ts': ['usage limits'],
  },
  'Factory Droid': {
    'test/system/agents/table.test.ts': ['stop event', 'blocking answer', "stops at the policy's cap (three blocks)"],
    'test/unit/agents/agents.test.ts': ['reports the start of a tool (a long tool does not make the worker stale)'],
  },
  'Kimi CLI': {
    'test/system/agents/table.test.ts': [
      'stop event',
      'blocking answer',
      'block limit of the agent itself',
      'learns the resolution of an escalation',
    ],
    'test/unit/agents/agents.test.ts': [
      'plan',
      'reports the start of a tool (a long tool does not make the worker stale)',
    ],
  },
  Cline: {
    'test/system/agents/table.test.ts': ['stop event'],
    'test/unit/agents/table.test.ts': ['sub-agents', 'last message'],
    'test/unit/agents/agents.test.ts': ['reports the start of a tool (a long tool does not make the worker stale)'],
  },
  'anything, by a command': {
    'test/unit/agents/shell.test.ts': [
      'stop event',
      'blocking answer',
      'plan',
      'last message',
      'reports the start of a tool (a long tool does not make the worker stale)',
    ],
    'test/unit/agents/agents.test.ts': ["stops at the policy's cap (three blocks)"],
    'test/integration/hook-command/hook.test.ts': ['notice of an unjudged stop'],
  },
};

const page = readFileSync(new URL('docs/agents/capabilities.md', root), 'utf8');
const [, table = ''] = /<!-- agents -->\n([\s\S]*?)\n<!-- \/agents -->/.exec(page) ?? [];
const [head = [], , ...rows] = table.split('\n').map((line) =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((it) => it.trim()),
);
const columns = head.slice(1);
/** Cells that are marked as seen outside of tests (°), as documented only (\*), or as missing (–). */
const needsNoTest = (cell: string) => /(^–| °| \\\*)$/.test(cell);

test('each agent has a column', () => {
  expect(columns).toHaveLength(agents.size);
  for (const [index, { title, name }] of [...agents.values()].entries()) {
    if (name !== 'shell') expect(columns[index]).toContain(title);
  }
});

test.each(columns)('every claim about %s has an existing test', (column) => {
  const claimed = rows.filter((row) => !needsNoTest(row[columns.indexOf(column) + 1] ?? '')).map(([title]) => title);
  const shown = shownBy[column] ?? {};
  expect(Object.values(shown).flat().sort()).toEqual(claimed.sort());
  for (const file of Object.keys(shown)) expect(existsSync(new URL(file, root)), file).toBe(true);
});

/** Rows of the table of versions that name no version. */
const notRun = [...page.matchAll(/^\| ([^|]+) \| – \| – \| (.*) \|$/gm)];

test.each(notRun.map(([, title = '', what = '']) => [title, what]))('nothing claims that %s was run', (title, what) => {
  expect(what).toMatch(/^documented, not run: .*\[its documentation\]\(https:/);
  const cells = rows.map((row) => row[columns.indexOf(title) + 1] ?? '');
  expect(cells.filter((cell) => !/^–$| \\\*$/.test(cell))).toEqual([]);
});

test('each agent has a row in the table of versions', () => {
  const listed = columns.filter((column) => new RegExp(`^\\| ${column.split(',')[0]} \\| [–\\d]`, 'm').test(page));
  expect(listed).toEqual(columns.filter((column) => column !== 'anything, by a command'));
  expect(notRun.length).toBeGreaterThan(0);
});
