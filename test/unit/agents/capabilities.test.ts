/** The table of what agents can do: docs/agents.md shows it, and each claim names the test that proves it. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { renderCapabilities } from '../../../src/agents/capabilities.ts';
import { agents } from '../../../src/agents/index.ts';

const root = new URL('../../../', import.meta.url);

test('docs/agents.md has the table', () => {
  const page = readFileSync(new URL('docs/agents.md', root), 'utf8');
  const [, shown] = /<!-- agents -->\n([\s\S]*?)\n<!-- \/agents -->/.exec(page) ?? [];
  expect(shown).toBe(renderCapabilities());
});

test.each([...agents.values()])('what is claimed of $name names tests that exist', ({ capabilities: { cells } }) => {
  for (const [key, cell] of Object.entries(cells)) {
    if (cell === null || cell[1] === 'live' || cell[1] === 'docs') continue;
    expect(existsSync(new URL(cell[1], root)), `${key}: ${cell[1]}`).toBe(true);
  }
});
