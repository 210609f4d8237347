/** The agents that speak ACP, each with a model on loopback. One row per agent, for the tests that all share. */
import { anthropicMessages } from '../support/anthropic.ts';
import { chatCompletions } from '../support/chat-completions.ts';
import { copilotCli, copilotEnv } from '../support/copilot.ts';
import { geminiCli, geminiEnv, geminiSettings, generateContent } from '../support/gemini.ts';
import type { AgentPackage } from '../support/install.ts';
import { opencode, opencodeConfig, opencodeEnv } from '../support/opencode.ts';
import { qwenCode, qwenEnv, qwenSettings } from '../support/qwen.ts';
import { openaiResponses } from '../support/responses.ts';
import { type AgentHome, claudeEnv, codexEnv, writeCodexConfig } from '../support/run.ts';
import { planTools } from '../support/scene.ts';
import type { Api, Turn } from '../support/scripted-model.ts';

export type AcpAgent = {
  /** The agent name of its workers. */
  readonly agent: string;
  readonly program: AgentPackage;
  readonly args: readonly string[];
  /** The API of its model. */
  readonly api: Api;
  /** Settings that make it ask before it runs a command. */
  readonly prepare: (at: AgentHome, modelUrl: string) => Promise<unknown>;
  readonly env: (at: AgentHome, modelUrl: string) => Record<string, string>;
  /** A turn that runs a shell command. */
  readonly shell: (command: string) => Turn;
  /** True if it asks before it runs such a command. */
  readonly asks: boolean;
  /** True if it reports the usage of a turn, even of a cancelled one. */
  readonly reportsUsage: boolean;
  /** Turns that create a plan with the step "Write the tests" and mark it as done. Null if it shows no plan in ACP. */
  readonly plan: { readonly open: Turn; readonly close: Turn } | null;
};

const description = 'a command';
const planOf = (turn: (status: string) => Turn) => ({ open: turn('pending'), close: turn('completed') });

const openCode: AcpAgent = {
  agent: 'opencode',
  program: opencode,
  args: ['acp'],
  api: chatCompletions,
  prepare: (at, modelUrl) => at.write('home/.config/opencode/opencode.json', opencodeConfig(modelUrl, { bash: 'ask' })),
  env: (at) => opencodeEnv(at),
  shell: (command) => ({ tool: 'bash', input: { command, description } }),
  asks: true,
  reportsUsage: false,
  plan: planOf((status) => ({
    tool: 'todowrite',
    input: { todos: [{ content: 'Write the tests', status, priority: 'high' }] },
  })),
};

const gemini: AcpAgent = {
  agent: 'gemini',
  program: geminiCli,
  args: ['--acp'],
  api: generateContent,
  prepare: (at) => at.write('home/.gemini/settings.json', JSON.stringify(geminiSettings)),
  env: (_, modelUrl) => geminiEnv(modelUrl),
  shell: (command) => ({ tool: 'run_shell_command', input: { command, description } }),
  asks: true,
  reportsUsage: false,
  plan: null,
};

const copilot: AcpAgent = {
  agent: 'copilot',
  program: copilotCli,
  args: ['--acp'],
  api: chatCompletions,
  prepare: async () => {},
  env: (_, modelUrl) => copilotEnv(modelUrl),
  shell: (command) => ({ tool: 'bash', input: { command, description } }),
  asks: true,
  reportsUsage: true,
  plan: null,
};

/** By default, it lets the model decide which commands are safe. */
const qwenAsks = { ...qwenSettings, tools: { ...qwenSettings.tools, approvalMode: 'default' } };
const qwen: AcpAgent = {
  agent: 'qwen',
  program: qwenCode,
  args: ['--acp'],
  api: chatCompletions,
  prepare: (at) => at.write('home/.qwen/settings.json', JSON.stringify(qwenAsks)),
  env: (_, modelUrl) => qwenEnv(modelUrl),
  shell: (command) => ({ tool: 'run_shell_command', input: { command, description, is_background: false } }),
  asks: true,
  reportsUsage: true,
  plan: planOf((status) => ({
    tool: 'todo_write',
    input: { todos: [{ id: '1', content: 'Write the tests', status }] },
  })),
};

/** Includes its own Claude Code. */
const claude: AcpAgent = {
  agent: 'claude',
  program: { name: '@agentclientprotocol/claude-agent-acp', version: '0.101.0', bin: 'claude-agent-acp' },
  args: [],
  api: anthropicMessages,
  prepare: (at) => at.write('home/.claude/settings.json', '{"permissions":{"defaultMode":"default"}}'),
  env: (at, modelUrl) => ({ ...claudeEnv(at, modelUrl), ...planTools }),
  shell: (command) => ({ tool: 'Bash', input: { command, description } }),
  asks: true,
  reportsUsage: true,
  plan: {
    open: { tool: 'TaskCreate', input: { subject: 'Write the tests', description: 'of the parser' } },
    close: { tool: 'TaskUpdate', input: { taskId: '1', status: 'completed' } },
  },
};

/** Includes its own Codex. */
const codex: AcpAgent = {
  agent: 'codex',
  program: { name: '@agentclientprotocol/codex-acp', version: '2.6.0', bin: 'codex-acp' },
  args: [],
  api: openaiResponses,
  prepare: writeCodexConfig,
  env: (at) => codexEnv(at),
  shell: (cmd) => ({ tool: 'exec_command', input: { cmd } }),
  // Without its sandbox.
  asks: false,
  reportsUsage: true,
  plan: null,
};

export const acpAgents: readonly AcpAgent[] = [openCode, gemini, copilot, qwen, claude, codex];
