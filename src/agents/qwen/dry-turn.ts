/** Runs a turn of Qwen Code with its own home folder. Seen with 0.24.4. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openChatCompletionsModel } from '../doctor/chat-completions-model.ts';
import type { DryTurn } from '../doctor/dry-turn.ts';

const own = {
  security: { auth: { selectedType: 'openai' } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false },
};

export const dryTurn: DryTurn = {
  openModel: openChatCompletionsModel,
  async prepare({ home, settings, model }) {
    const folder = join(home, '.qwen');
    mkdirSync(folder);
    const hooks = JSON.parse(settings) as object;
    writeFileSync(join(folder, 'settings.json'), JSON.stringify({ ...own, ...hooks }));
    return {
      args: ['-p', 'Say hello.', '--output-format', 'json'],
      env: { OPENAI_BASE_URL: `${model}/v1`, OPENAI_API_KEY: 'none', OPENAI_MODEL: 'fake' },
    };
  },
};
