/** Runs a turn of Codex with its own home folder. Seen with 0.169.0. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DryTurn } from '../doctor/dry-turn.ts';
import { openResponsesModel } from './responses-model.ts';
import { listCodexHooks, putTrust } from './trust.ts';

export const dryTurn: DryTurn = {
  openModel: openResponsesModel,
  async prepare({ home: userHome, project, settings, model, binary, env }) {
    const home = join(userHome, '.codex');
    mkdirSync(home);
    const config = configFor(model);
    writeFileSync(join(home, 'config.toml'), config);
    writeFileSync(join(home, 'hooks.json'), settings);
    const more = { CODEX_HOME: home, FAKE_MODEL_KEY: 'none' };
    // Trusted as by `init`, which is tried by this too.
    const hooks = await listCodexHooks(binary, project, { ...env, ...more });
    writeFileSync(join(home, 'config.toml'), putTrust(config, hooks ?? []));
    return { args: ['exec', '--skip-git-repo-check', '--json', 'Say hello.'], env: more };
  },
};

const configFor = (model: string): string => `model = "fake"
model_provider = "fake"

[model_providers.fake]
name = "fake"
base_url = "${model}/v1"
env_key = "FAKE_MODEL_KEY"
wire_api = "responses"
`;
