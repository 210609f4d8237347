/** The dry turns of `stopgate doctor`, with the real programs that are available in CI. */
import { test } from 'vitest';
import { expectDryTurn } from './support/dry-turn.ts';
import { claudeCode, codexCli } from './support/install.ts';

test.each([
  ['claude', claudeCode],
  ['codex', codexCli],
])('%s: the hook fires, and a block holds', expectDryTurn, 300_000);
