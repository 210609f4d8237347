/** Runs a turn of Copilot CLI with its own home folder. Seen with 1.0.102. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openChatCompletionsModel } from '../doctor/chat-completions-model.ts';
import type { DryTurn } from '../doctor/dry-turn.ts';

export const dryTurn: DryTurn = {
  openModel: openChatCompletionsModel,
  async prepare({ home, settings, model }) {
    const folder = join(home, '.copilot', 'hooks');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'stopgate.json'), settings);
    return {
      args: ['-p', 'Say hello.', '--no-color'],
      env: {
        ...{ COPILOT_OFFLINE: 'true', COPILOT_AUTO_UPDATE: 'false', COPILOT_MODEL: 'fake' },
        ...{ COPILOT_PROVIDER_BASE_URL: `${model}/v1`, COPILOT_PROVIDER_API_KEY: 'none' },
      },
    };
  },
};
