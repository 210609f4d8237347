/** Qwen Code with a scripted model, without a login. Nothing leaves the machine. */
import type { AgentPackage } from './install.ts';
import { type AgentHome, type AgentRun, runAgent } from './run.ts';

export const qwenCode: AgentPackage = { name: '@qwen-code/qwen-code', version: '0.24.4', bin: 'qwen' };

/** The user's existing settings. */
export const qwenSettings = {
  security: { auth: { selectedType: 'openai' } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false },
  // Otherwise it asks the model what to remember after each turn.
  memory: { enableManagedAutoMemory: false },
  // Off by default.
  tools: { todoWrite: { enabled: true } },
};

export const runQwen = (
  program: string,
  at: AgentHome,
  modelUrl: string,
  more: readonly string[] = [],
): Promise<AgentRun> => runAgent(program, ['-p', 'do the task', '--yolo', ...more], { at, env: qwenEnv(modelUrl) });

export const qwenEnv = (modelUrl: string): Record<string, string> => ({
  OPENAI_BASE_URL: `${modelUrl}/v1`,
  OPENAI_API_KEY: 'none',
  OPENAI_MODEL: 'scripted',
});
