/** Checks the table in docs/agents/capabilities.md: every claim without a mark has a test that shows it. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { agents } from '../../../src/agents/index.ts';

const root = new URL('../../../', import.meta.url);

/** By column of the table: the rows that each test file shows. */
const shownBy: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'Claude Code, Agent SDK': {
    'test/system/agents/usage.test.ts': [
      'reports what it uses ([`--usage`](usage.md))',
      'is let go when its budget is used up',
    ],
    'test/system/agents/claude.test.ts': [
      'event that asks to stop',
      'answer that blocks',
      'may stop after three blocks',
      'plan',
      'while the service is down',
    ],
    'test/system/agents/claude-work.test.ts': [
      'its own cap of blocks',
      'sub-agents',
      'background work',
      '`stopWhenComplete`',
      'after tools, is told what a check finds missing (`stopWhenComplete`)',
      '`steps: gate`',
      'structured output',
      'learns how an escalation was resolved',
      'usage limits',
    ],
    'test/unit/agents/claude-work.test.ts': [
      'last message',
      'reports that it waits for a person',
      'reports when a tool starts, so that a long one does not make it stale',
    ],
    'test/system/agents/claude-wake.test.ts': ['is woken when it is resolved'],
    'test/system/agents/claude-question.test.ts': ['an operator can answer for the person (`ask`)'],
    'test/integration/agents/unsolicited-checks.test.ts': ['a stop that could not be judged'],
  },
  Codex: {
    'test/system/agents/usage.test.ts': ['reports what it uses ([`--usage`](usage.md))'],
    'test/system/agents/codex.test.ts': [
      'event that asks to stop',
      'answer that blocks',
      'may stop after three blocks',
      'its own cap of blocks',
      'sub-agents',
      'plan',
      'learns how an escalation was resolved',
      'reports that it waits for a person',
      'an operator can answer for the person (`ask`)',
      'while the service is down',
    ],
    'test/unit/agents/codex.test.ts': ['last message'],
    'test/unit/agents/agents.test.ts': ['a stop that could not be judged'],
  },
  'Gemini CLI': {
    'test/system/agents/usage.test.ts': [
      'reports what it uses ([`--usage`](usage.md))',
      'is let go when its budget is used up',
    ],
    'test/unit/agents/gemini.test.ts': ['event that asks to stop', 'last message'],
    'test/system/agents/plan-turns.test.ts': [
      'answer that blocks',
      'may stop after three blocks',
      'plan',
      'while the service is down',
    ],
    'test/system/agents/gemini.test.ts': ['sub-agents', '`stopWhenComplete`', 'learns how an escalation was resolved'],
    'test/unit/agents/agents.test.ts': ['a stop that could not be judged'],
  },
  'Copilot CLI': {
    'test/system/agents/usage.test.ts': ['reports what it uses ([`--usage`](usage.md))'],
    'test/unit/agents/copilot.test.ts': [
      'event that asks to stop',
      'last message',
      'reports that it waits for a person',
    ],
    'test/system/agents/plan-turns.test.ts': [
      'answer that blocks',
      'may stop after three blocks',
      'plan',
      'learns how an escalation was resolved',
      'while the service is down',
    ],
    'test/system/agents/copilot.test.ts': ['sub-agents', 'background work'],
  },
  'Qwen Code': {
    'test/system/agents/usage.test.ts': [
      'reports what it uses ([`--usage`](usage.md))',
      'is let go when its budget is used up',
    ],
    'test/system/agents/plan-turns.test.ts': [
      'event that asks to stop',
      'answer that blocks',
      'may stop after three blocks',
      'plan',
      'hooks over HTTP',
      'a stop that could not be judged',
      'while the service is down',
    ],
    'test/system/agents/qwen.test.ts': [
      'its own cap of blocks',
      'sub-agents',
      'background work',
      '`steps: gate`',
      'structured output',
      'learns how an escalation was resolved',
    ],
    'test/unit/agents/qwen.test.ts': [
      'last message',
      'reports that it waits for a person',
      'reports when a tool starts, so that a long one does not make it stale',
    ],
  },
  Cursor: {
    'test/unit/agents/agents.test.ts': ['may stop after three blocks'],
  },
  OpenCode: {
    'test/system/agents/opencode.test.ts': [
      'event that asks to stop',
      'answer that blocks',
      'may stop after three blocks',
      'sub-agents',
      'plan',
      'learns how an escalation was resolved',
      'is woken when it is resolved',
      'reports that it waits for a person',
      'an operator can answer for the person (`ask`)',
      'while the service is down',
    ],
    'test/integration/agents/opencode-plugin.test.ts': [
      'last message',
      'reports when a tool starts, so that a long one does not make it stale',
      'hooks over HTTP',
      'a stop that could not be judged',
    ],
    'test/unit/agents/opencode.test.ts': ['usage limits'],
  },
  'Antigravity CLI': {
    'test/unit/agents/agents.test.ts': ['may stop after three blocks'],
    'test/unit/agents/table.test.ts': ['background work'],
  },
  'Kiro CLI': {
    'test/unit/agents/agents.test.ts': ['may stop after three blocks'],
  },
  'Factory Droid': {
    'test/system/agents/table.test.ts': [
      'event that asks to stop',
      'answer that blocks',
      'may stop after three blocks',
    ],
    'test/unit/agents/agents.test.ts': ['reports when a tool starts, so that a long one does not make it stale'],
  },
  Goose: {
    'test/unit/agents/agents.test.ts': ['may stop after three blocks'],
  },
  'Kimi CLI': {
    'test/system/agents/table.test.ts': [
      'event that asks to stop',
      'answer that blocks',
      'its own cap of blocks',
      'learns how an escalation was resolved',
    ],
    'test/unit/agents/agents.test.ts': [
      'may stop after three blocks',
      'plan',
      'reports when a tool starts, so that a long one does not make it stale',
    ],
  },
  Cline: {
    'test/system/agents/table.test.ts': ['event that asks to stop'],
    'test/unit/agents/table.test.ts': ['sub-agents', 'last message'],
    'test/unit/agents/agents.test.ts': ['reports when a tool starts, so that a long one does not make it stale'],
  },
  'anything, by a command': {
    'test/unit/agents/shell.test.ts': [
      'event that asks to stop',
      'answer that blocks',
      'plan',
      'last message',
      'reports when a tool starts, so that a long one does not make it stale',
    ],
    'test/unit/agents/agents.test.ts': ['may stop after three blocks'],
    'test/integration/hook-command/hook.test.ts': ['a stop that could not be judged'],
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
