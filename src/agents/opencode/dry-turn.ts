/** Runs a turn of `opencode serve` with its own home folder: `opencode run` would end when idle. Seen with 1.18.33. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openChatCompletionsModel } from '../doctor/chat-completions-model.ts';
import type { DryTurn } from '../doctor/dry-turn.ts';

/** No registry, no list of models, no proxy: what it fetches at its start fails at once. */
const nowhere = 'http://127.0.0.1:9';
const offline = {
  ...{ OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1' },
  ...{ npm_config_registry: nowhere, npm_config_fetch_retries: '0', BUN_CONFIG_REGISTRY: nowhere },
  ...{ HTTP_PROXY: nowhere, HTTPS_PROXY: nowhere, NO_PROXY: '127.0.0.1,localhost' },
};

const configFor = (model: string) => ({
  ...{ model: 'fake/fake', small_model: 'fake/fake', autoupdate: false, share: 'disabled' },
  provider: {
    fake: {
      ...{ npm: '@ai-sdk/openai-compatible', name: 'fake', options: { baseURL: `${model}/v1`, apiKey: 'none' } },
      models: { fake: { name: 'fake', tool_call: true, limit: { context: 100_000, output: 8_000 } } },
    },
  },
});

export const dryTurn: DryTurn = {
  openModel: openChatCompletionsModel,
  async prepare({ project, settings: plugin, model }) {
    const folder = join(project, '.opencode', 'plugin');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'stopgate.js'), plugin);
    writeFileSync(join(project, 'opencode.json'), JSON.stringify(configFor(model)));
    return {
      args: ['serve', '--hostname', '127.0.0.1', '--port', '0'],
      env: offline,
      drive: async (address) => {
        const { id } = (await post(`${address}/session`, {})) as { id: string };
        await post(`${address}/session/${id}/message`, { parts: [{ type: 'text', text: 'Say hello.' }] });
      },
    };
  },
};

async function post(url: string, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`OpenCode answered ${answer.status} to ${new URL(url).pathname}`);
  return answer.json();
}
