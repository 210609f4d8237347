/** Runs a turn of Gemini CLI with its own home folder. Seen with 0.61.0. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DryTurn } from '../doctor/dry-turn.ts';
import { openGenerateContentModel } from './generate-content-model.ts';

/** A key instead of a login; and else it first asks a model which model to take. */
const own = {
  security: { auth: { selectedType: 'gemini-api-key' } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false },
  model: { name: 'gemini-2.5-flash' },
};

export const dryTurn: DryTurn = {
  openModel: openGenerateContentModel,
  async prepare({ home, settings, model }) {
    const folder = join(home, '.gemini');
    mkdirSync(folder);
    const hooks = JSON.parse(settings) as object;
    writeFileSync(join(folder, 'settings.json'), JSON.stringify({ ...own, ...hooks }));
    return {
      args: ['-p', 'Say hello.', '--output-format', 'json'],
      env: { GOOGLE_GEMINI_BASE_URL: model, GEMINI_API_KEY: 'none', GEMINI_CLI_TRUST_WORKSPACE: 'true' },
    };
  },
};
