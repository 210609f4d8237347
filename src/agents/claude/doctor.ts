/** What the doctor checks for Claude Code. */
import { join } from 'node:path';
import { createHookDoctor } from '../doctor/hook-doctor.ts';
import type { BlockCap } from '../doctor/limit-checks.ts';
import { dryTurn } from './dry-turn.ts';
import { findClaudePlugin } from './installed-plugin.ts';
import { hooks, program } from './settings.ts';
import { blockCap as capVariable } from './variables.ts';

const blockCap: BlockCap = {
  blocks: 8,
  /** In "env" of its settings, or in the environment. 0: no cap. */
  configured(hooked, env) {
    const pattern = new RegExp(`"${capVariable.name}"\\s*:\\s*"?(\\d+)`);
    const value = hooked.map(({ text }) => pattern.exec(text)?.[1]).find(Boolean) ?? env[capVariable.name];
    return value === undefined || value === '' ? undefined : Number(value) || Number.POSITIVE_INFINITY;
  },
  raise: '--block-cap N (0: no cap)',
};

export const doctor = createHookDoctor(hooks, {
  limits: { stopEvent: 'Stop', checkedEvent: 'PostToolBatch', timeoutUnitMs: 1_000, blockCap },
  dryTurn,
  moreFiles: ({ cwd }) => [['local', join(cwd, '.claude', 'settings.local.json')]],
  findMore: (settings, places) => findClaudePlugin(settings, program.folder(places)),
});
