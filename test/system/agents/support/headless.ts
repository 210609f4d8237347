/** The agents whose programs take one prompt and exit. One row per agent, for the tests that all share. */
import { expect } from 'vitest';
import { chatCompletions } from './chat-completions.ts';
import { connectAgent } from './connect.ts';
import { copilotCli, copilotEnv, runCopilot } from './copilot.ts';
import { geminiCli, geminiEnv, geminiSettings, generateContent, runGemini } from './gemini.ts';
import type { AgentPackage } from './install.ts';
import { qwenCode, qwenSettings, runQwen } from './qwen.ts';
import { type AgentHome, type AgentRun, makeAgentHome } from './run.ts';
import type { Api, Turn } from './scripted-model.ts';
import { done } from './workers.ts';

export type HeadlessAgent = {
  readonly agent: string;
  readonly program: AgentPackage;
  /** The API of its model. */
  readonly api: Api;
  /** The user's existing settings. */
  readonly settings?: { readonly file: string; readonly content: object };
  /** Options of `stopgate init` for each tested form of hooks. */
  readonly forms: readonly { readonly form: string; readonly init: readonly string[] }[];
  readonly run: (program: string, at: AgentHome, modelUrl: string) => Promise<AgentRun>;
  /** Turns that add the step "Write the tests" to its plan and mark it as done. */
  readonly open: Turn;
  readonly close: Turn;
  /** The status of a step that is done. */
  readonly doneStatus: string;
  /** Turns of a model that makes no progress. It is blocked three times and may stop after the last turn. */
  readonly stalled: readonly { readonly how: string; readonly turns: readonly Turn[] }[];
  /** The turns of a session without an open step. */
  readonly nothingOpen: readonly Turn[];
  /** What it shows for a stop that was not judged because the service was killed. */
  readonly unjudged: { readonly shows: string; readonly expect: (ended: AgentRun, form: string) => void };
  /** Its environment for the command that resumes a session. Null if that command needs a terminal. */
  readonly resumeEnv: ((modelUrl: string) => Record<string, string>) | null;
};

const geminiTodo = (status: string): Turn => ({
  tool: 'write_todos',
  input: { todos: [{ description: 'Write the tests', status }] },
});
const geminiOpen = geminiTodo('pending');
export const gemini: HeadlessAgent = {
  agent: 'gemini',
  program: geminiCli,
  api: generateContent,
  settings: { file: 'home/.gemini/settings.json', content: geminiSettings },
  forms: [{ form: 'default', init: ['--user'] }],
  run: runGemini,
  open: geminiOpen,
  close: geminiTodo('completed'),
  doneStatus: 'completed',
  stalled: [
    { how: 'says only that it is done', turns: [geminiOpen, done, done, done, done] },
    // After a tool, `stop_hook_active` is false again, so only our own count ends this.
    { how: 'uses a tool each time', turns: Array(4).fill([geminiOpen, done]).flat() },
  ],
  nothingOpen: [geminiTodo('completed'), done],
  unjudged: {
    shows: 'says that nothing was judged',
    expect: ({ stdout, stderr }) => expect(`${stdout}${stderr}`).toContain('this stop was not judged: no answer from'),
  },
  resumeEnv: geminiEnv,
};

const sql = (query: string): Turn => ({ tool: 'sql', input: { query, description: 'the plan' } });
const copilotOpen = sql("INSERT INTO todos (id, title, status) VALUES ('tests', 'Write the tests', 'pending')");
export const copilot: HeadlessAgent = {
  agent: 'copilot',
  program: copilotCli,
  api: chatCompletions,
  forms: [{ form: 'default', init: ['--user'] }],
  run: runCopilot,
  open: copilotOpen,
  close: sql("UPDATE todos SET status = 'done' WHERE id = 'tests'"),
  doneStatus: 'done',
  stalled: [{ how: 'says only that it is done', turns: [copilotOpen, done, done, done, done] }],
  nothingOpen: [done],
  unjudged: {
    // Its hooks have no field for a message, and it drops their stderr.
    shows: 'shows nothing of what its hook prints',
    expect: ({ stdout, stderr }) => expect(`${stdout}${stderr}`).not.toContain('stopgate'),
  },
  resumeEnv: copilotEnv,
};

const qwenTodo = (status: string): Turn => ({
  tool: 'todo_write',
  input: { todos: [{ id: '1', content: 'Write the tests', status }] },
});
const qwenTool: Turn = {
  tool: 'run_shell_command',
  input: { command: 'true', description: 'a command', is_background: false },
};
export const qwen: HeadlessAgent = {
  agent: 'qwen',
  program: qwenCode,
  api: chatCompletions,
  settings: { file: 'home/.qwen/settings.json', content: qwenSettings },
  forms: ['http', 'http+curl', 'command'].map((form) => ({ form, init: ['--form', form] })),
  run: runQwen,
  open: qwenTodo('pending'),
  close: qwenTodo('completed'),
  doneStatus: 'completed',
  stalled: [
    {
      how: 'uses a tool each time',
      turns: [qwenTodo('pending'), done, qwenTool, done, qwenTool, done, qwenTool, done],
    },
  ],
  nothingOpen: [done],
  unjudged: {
    shows: 'says so where a command asks',
    expect: ({ stderr }, form) => expect(stderr.includes('this stop was not judged')).toBe(form !== 'http'),
  },
  resumeEnv: null,
};

export const headlessAgents: readonly HeadlessAgent[] = [gemini, copilot, qwen];

type HomeOptions = { readonly program: string; readonly http: string; readonly init?: readonly string[] | undefined };

/**
 * A home with the user's settings, connected to a service by `stopgate init`. Default: the row's first form of hooks.
 */
export async function makeHeadlessHome(
  { agent, settings, forms }: HeadlessAgent,
  { program, http, init = forms[0]?.init ?? [] }: HomeOptions,
): Promise<AgentHome> {
  const home = await makeAgentHome();
  if (settings !== undefined) await home.write(settings.file, JSON.stringify(settings.content));
  await connectAgent(agent, home, { program, http, init });
  return home;
}
