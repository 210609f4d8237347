/** Runs an agent once, without a terminal, in a home and a project of its own, and with nothing of our environment. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { type Folder, makeFolder } from '../../../support/deployment.ts';

export type AgentHome = Folder & { readonly home: string; readonly project: string };
export type AgentRun = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** Until the test ends. */
export async function makeAgentHome(): Promise<AgentHome> {
  const folder = await makeFolder({ 'home/.keep': '', 'project/.keep': '' });
  onTestFinished(() => folder.remove());
  return { ...folder, home: `${folder.path}/home`, project: `${folder.path}/project` };
}

type Options = { readonly at: AgentHome; readonly env: Record<string, string>; readonly timeoutMs?: number };

/** One that takes too long is killed with all that it started, and gives the exit code null. */
export async function runAgent(
  program: string,
  args: readonly string[],
  { at, env, timeoutMs = 90_000 }: Options,
): Promise<AgentRun> {
  // A process group of its own, since agents start themselves again.
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

/** Claude Code with a model on loopback; nothing leaves the machine. */
export const claudeEnv = (at: AgentHome, modelUrl: string): Record<string, string> => ({
  ANTHROPIC_BASE_URL: modelUrl,
  ANTHROPIC_API_KEY: 'none',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  CLAUDE_CONFIG_DIR: `${at.home}/.claude`,
  DISABLE_AUTOUPDATER: '1',
  // Tools of MCP servers are offered at once, instead of being looked for by name.
  ENABLE_TOOL_SEARCH: 'false',
  // As root it would refuse to run without asking for permission.
  IS_SANDBOX: '1',
});

/** Codex, likewise; `writeCodexConfig` names the model. */
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
