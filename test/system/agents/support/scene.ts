/** Fixtures: Claude Code and Codex, connected to a service by `stopgate init`, each with a scripted model. */
import { anthropicMessages } from './anthropic.ts';
import { connectAgent } from './connect.ts';
import { openaiResponses } from './responses.ts';
import {
  type AgentHome,
  type AgentRun,
  claudeEnv,
  codexEnv,
  makeAgentHome,
  runAgent,
  writeCodexConfig,
} from './run.ts';
import { type Conversation, type ScriptedModel, scriptModel, type Turn } from './scripted-model.ts';

export type Scene = {
  readonly home: AgentHome;
  readonly model: ScriptedModel;
  /** One headless run, by default in a new session. `worker` is the session's worker id. */
  run(prompt: string, more?: readonly string[]): Promise<AgentRun & { readonly worker: string }>;
};
export type SceneOptions = {
  readonly program: string;
  /** The address of the service. */
  readonly http: string;
  readonly turns: readonly Turn[];
  readonly conversations?: readonly Conversation[];
  /** Options of `stopgate init`. Null to skip it. */
  readonly init?: readonly string[] | null;
  readonly env?: Readonly<Record<string, string>>;
};

/** Enables plan tools, which only older models have by default. `stopgate init` sets it if a policy checks the plan. */
export const planTools = { CLAUDE_CODE_ENABLE_TODO_TOOLS: '1' };

export async function claudeScene(options: SceneOptions): Promise<Scene> {
  const { program, http, turns, conversations, init = [] } = options;
  const model = await scriptModel(anthropicMessages, turns, conversations);
  const home = await makeAgentHome();
  if (init !== null) await connectAgent('claude', home, { program, http, init });
  return {
    home,
    model,
    async run(prompt, more = []) {
      const args = ['--output-format', 'json', '--permission-mode', 'bypassPermissions', ...more];
      const env = { ...claudeEnv(home, model.url), ...(init === null ? planTools : {}), ...options.env };
      const ended = await runAgent(program, ['-p', prompt, ...args], { at: home, env });
      return { worker: idIn(ended.stdout, /"session_id":"([^"]+)"/), ...ended };
    },
  };
}

export async function codexScene(options: SceneOptions): Promise<Scene> {
  const { program, http, turns, conversations, init = [] } = options;
  const model = await scriptModel(openaiResponses, turns, conversations);
  const home = await makeAgentHome();
  await writeCodexConfig(home, model.url);
  if (init !== null) await connectAgent('codex', home, { program, http, init });
  return {
    home,
    model,
    async run(prompt, more = []) {
      const args = ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
      const ended = await runAgent(program, [...args, ...more, prompt], {
        at: home,
        env: { ...codexEnv(home), ...options.env },
      });
      return { worker: idIn(ended.stderr, /^session id: (.+)$/m), ...ended };
    },
  };
}

const idIn = (text: string, where: RegExp): string => where.exec(text)?.[1] ?? '';
