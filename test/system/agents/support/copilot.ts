/** Copilot CLI with a scripted model, without a login. Nothing leaves the machine. */
import type { AgentPackage } from './install.ts';
import { type AgentHome, type AgentRun, runAgent } from './run.ts';

export const copilotCli: AgentPackage = { name: '@github/copilot', version: '1.0.102', bin: 'copilot' };

export function runCopilot(
  program: string,
  at: AgentHome,
  modelUrl: string,
  prompt = 'do the task',
  more: Readonly<Record<string, string>> = {},
): Promise<AgentRun> {
  return runAgent(program, ['-p', prompt, '--allow-all-tools', '--no-color'], {
    at,
    env: { ...copilotEnv(modelUrl), ...more },
  });
}

export const copilotEnv = (modelUrl: string): Record<string, string> => ({
  COPILOT_OFFLINE: 'true',
  COPILOT_PROVIDER_BASE_URL: `${modelUrl}/v1`,
  COPILOT_PROVIDER_API_KEY: 'none',
  COPILOT_MODEL: 'scripted',
  COPILOT_AUTO_UPDATE: 'false',
});
