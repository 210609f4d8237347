/** Runs a turn of Claude Code with its own home folder. Seen with 2.1.330. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DryTurn } from '../doctor/dry-turn.ts';
import { openMessagesModel } from './messages-model.ts';

export const dryTurn: DryTurn = {
  openModel: openMessagesModel,
  async prepare({ home, settings, model }) {
    const config = join(home, '.claude');
    mkdirSync(config);
    writeFileSync(join(config, 'settings.json'), settings);
    return {
      args: ['-p', 'Say hello.', '--output-format', 'json'],
      env: {
        ...{ ANTHROPIC_BASE_URL: model, ANTHROPIC_API_KEY: 'none', CLAUDE_CONFIG_DIR: config },
        ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1', IS_SANDBOX: '1' },
      },
    };
  },
};
