/** The table of what agents can do: docs/agents.md shows it, and each claim names the test that proves it. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { capabilities, renderCapabilities } from '../../../src/agents/capabilities.ts';
import { agents } from '../../../src/agents/index.ts';

const root = new URL('../../../', import.meta.url);

test('docs/agents.md has the table', () => {
  const page = readFileSync(new URL('docs/agents.md', root), 'utf8');
  const [, shown] = /<!-- agents -->\n([\s\S]*?)\n<!-- \/agents -->/.exec(page) ?? [];
  expect(shown).toBe(renderCapabilities());
});

test('every agent has its cell in each row, and every claim of a test has that test', () => {
  for (const { title, cells } of capabilities) {
    expect(Object.keys(cells).sort(), title).toEqual([...agents.keys()].sort());
    for (const cell of Object.values(cells)) {
      if (cell === null || cell[1] === 'live' || cell[1] === 'docs') continue;
      expect(existsSync(new URL(cell[1], root)), `${title}: ${cell[1]}`).toBe(true);
    }
  }
});
