/** Runs an agent once without a terminal, with its own home and project, and without our environment. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { type Folder, makeFolder } from '../../../support/deployment.ts';

export type AgentHome = Folder & { readonly home: string; readonly project: string };
export type AgentRun = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** Kept until the test ends. */
export async function makeAgentHome(): Promise<AgentHome> {
  const folder = await makeFolder({ 'home/.keep': '', 'project/.keep': '' });
  onTestFinished(() => folder.remove());
  return { ...folder, home: `${folder.path}/home`, project: `${folder.path}/project` };
}

type Options = { readonly at: AgentHome; readonly env: Record<string, string>; readonly timeoutMs?: number };

/** A run that takes too long is killed with its process group and has the exit code null. */
export async function runAgent(
  program: string,
  args: readonly string[],
  { at, env, timeoutMs = 90_000 }: Options,
): Promise<AgentRun> {
  // A separate process group, because some agents restart themselves in a child process.
  const child = spawn(program, args, { cwd: at.project, env: { ...cleanEnv(at), ...env }, detached: true });
  child.stdin.end();
  const late = setTimeout(() => process.kill(-(child.pid as number), 'SIGKILL'), timeoutMs);
  try {
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { code: code as number | null, stdout, stderr };
  } finally {
    clearTimeout(late);
  }
}

export const cleanEnv = (at: AgentHome): Record<string, string> => ({
  PATH: '/usr/local/bin:/usr/bin:/bin',
  HOME: at.home,
  TERM: 'dumb',
  LANG: 'C.UTF-8',
  NO_COLOR: '1',
});

/** Claude Code with a model on loopback. Nothing leaves the machine. */
export const claudeEnv = (at: AgentHome, modelUrl: string): Record<string, string> => ({
  ANTHROPIC_BASE_URL: modelUrl,
  ANTHROPIC_API_KEY: 'none',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  CLAUDE_CONFIG_DIR: `${at.home}/.claude`,
  DISABLE_AUTOUPDATER: '1',
  // Offer the tools of MCP servers directly, instead of through a search.
  ENABLE_TOOL_SEARCH: 'false',
  // As root, it refuses to skip permissions without this.
  IS_SANDBOX: '1',
});

/** Codex without our environment. `writeCodexConfig` sets the model. */
export const codexEnv = (at: AgentHome): Record<string, string> => ({
  CODEX_HOME: `${at.home}/.codex`,
  FAKE_MODEL_KEY: 'none',
});

export const writeCodexConfig = (at: AgentHome, modelUrl: string): Promise<string> =>
  at.write(
    'home/.codex/config.toml',
    `model = "fake-model"
model_provider = "fake"

[model_providers.fake]
name = "fake"
base_url = "${modelUrl}/v1"
env_key = "FAKE_MODEL_KEY"
wire_api = "responses"
`,
  );
