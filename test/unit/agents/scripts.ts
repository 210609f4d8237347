/** A few calls in the form of each agent, so that a test can run with all of them. */
import { recordingsOf } from './recordings/recordings.ts';

type Call = readonly [body: object, event?: string];
/** One agent's calls, in the form that is posted to its endpoint. */
export type Script = {
  /** Extracts the text that makes the agent continue from the answer to its stop. */
  readonly text: (answer: object | null) => string | undefined;
  readonly prompt: (session: string, text: string) => Call;
  readonly tool: (session: string) => Call;
  /** The start of that tool, if the agent reports it. */
  readonly toolStart?: (session: string) => Call;
  readonly stop: (session: string) => Call;
  /** A sub-agent's stop, as a call in its parent's session. */
  readonly childStop?: (session: string) => Call;
  /** Plans one open step. */
  readonly plan?: (session: string, title: string) => Call;
};

type Answer = { readonly reason?: string; readonly hookSpecificOutput?: { readonly additionalContext?: string } };
const reasonOf = (answer: object | null) => (answer as Answer | null)?.reason;
const contextOf = (answer: object | null) =>
  reasonOf(answer) ?? (answer as Answer | null)?.hookSpecificOutput?.additionalContext;
const claude = recordingsOf('claude').recorded;
const codex = recordingsOf('codex').recorded;
const gemini = recordingsOf('gemini').recorded;
const copilot = recordingsOf('copilot').recorded;
const qwen = recordingsOf('qwen').recorded;
const opencode = recordingsOf('opencode').recorded;
const agy = recordingsOf('agy').recorded;
const kiro = recordingsOf('kiro').recorded;
const droid = recordingsOf('droid').recorded;
const goose = recordingsOf('goose').recorded;
const kimi = recordingsOf('kimi').recorded;
const cline = recordingsOf('cline').recorded;

const ofCline = (name: string, rootSessionId: string) => ({ ...cline(name), sessionContext: { rootSessionId } });

const forms: Record<string, Script> = {
  claude: {
    text: contextOf,
    prompt: (session_id, prompt) => [{ ...claude('UserPromptSubmit'), session_id, prompt }],
    tool: (session_id) => [{ ...claude('PostToolUse'), session_id }],
    toolStart: (session_id) => [{ ...claude('PreToolUse'), session_id }],
    stop: (session_id) => [{ ...claude('Stop'), session_id }],
    childStop: (session_id) => [{ ...claude('SubagentStop'), session_id }],
    plan: (session_id, subject) => [
      {
        ...claude('PostToolUse.TaskCreate'),
        session_id,
        tool_input: { subject },
        tool_response: { task: { id: '1', subject } },
      },
    ],
  },
  codex: {
    text: reasonOf,
    prompt: (session_id, prompt) => [{ ...codex('UserPromptSubmit'), session_id, prompt, transcript_path: null }],
    tool: (session_id) => [{ ...codex('PostToolUse'), session_id, transcript_path: null }],
    toolStart: (session_id) => [{ ...codex('PreToolUse'), session_id, transcript_path: null }],
    stop: (session_id) => [{ ...codex('Stop'), session_id, transcript_path: null }],
    childStop: (session_id) => [{ ...codex('SubagentStop'), session_id }],
    plan: (session_id, objective) => [
      {
        ...codex('PostToolUse.create_goal'),
        session_id,
        transcript_path: null,
        tool_response: { goal: { objective, status: 'active' } },
      },
    ],
  },
  gemini: {
    text: reasonOf,
    prompt: (session_id, prompt) => [{ ...gemini('BeforeAgent'), session_id, prompt }],
    tool: (session_id) => [{ ...gemini('AfterTool'), session_id }],
    toolStart: (session_id) => [{ ...gemini('BeforeTool'), session_id }],
    stop: (session_id) => [{ ...gemini('AfterAgent.second'), session_id }],
    plan: (session_id, description) => [
      {
        ...gemini('AfterTool.write_todos'),
        session_id,
        tool_input: { todos: [{ description, status: 'pending' }] },
      },
    ],
  },
  copilot: {
    text: reasonOf,
    prompt: (sessionId, prompt) => [{ ...copilot('userPromptSubmitted'), sessionId, prompt }, 'userPromptSubmitted'],
    tool: (sessionId) => [{ ...copilot('postToolUse'), sessionId }, 'postToolUse'],
    toolStart: (sessionId) => [{ ...copilot('preToolUse'), sessionId }, 'preToolUse'],
    stop: (sessionId) => [{ ...copilot('agentStop.second'), sessionId }, 'agentStop'],
    childStop: (sessionId) => [{ ...copilot('subagentStop'), sessionId, parentAgentId: sessionId }, 'subagentStop'],
    plan: (sessionId, title) => [
      {
        ...copilot('postToolUse.sql'),
        sessionId,
        toolArgs: { query: `INSERT INTO todos (id, title) VALUES ('t1', '${title}')` },
      },
      'postToolUse',
    ],
  },
  'copilot in PascalCase': {
    text: reasonOf,
    prompt: (session_id, prompt) => [
      { hook_event_name: 'UserPromptSubmit', session_id, cwd: '/workspace/project', prompt },
    ],
    tool: (session_id) => [
      { hook_event_name: 'PostToolUse', session_id, cwd: '/workspace/project', tool_name: 'bash' },
    ],
    stop: (session_id) => [{ ...copilot('Stop.pascal-case.second'), session_id }],
  },
  qwen: {
    text: reasonOf,
    prompt: (session_id, prompt) => [{ ...qwen('UserPromptSubmit'), session_id, prompt }],
    tool: (session_id) => [{ ...qwen('PostToolUse'), session_id }],
    toolStart: (session_id) => [{ ...qwen('PreToolUse'), session_id }],
    stop: (session_id) => [{ ...qwen('Stop'), session_id }],
    childStop: (session_id) => [{ ...qwen('SubagentStop'), session_id }],
    plan: (session_id, content) => [
      {
        ...qwen('PostToolUse.todo_write'),
        session_id,
        tool_input: { todos: [{ id: '1', content, status: 'pending' }] },
      },
    ],
  },
  cursor: {
    text: (answer) => (answer as { followup_message?: string } | null)?.followup_message,
    prompt: (conversation_id, prompt) => [
      { hook_event_name: 'beforeSubmitPrompt', conversation_id, workspace_roots: ['/workspace/project'], prompt },
    ],
    tool: (conversation_id) => [
      { hook_event_name: 'postToolUse', conversation_id, workspace_roots: ['/workspace/project'], tool_name: 'Shell' },
    ],
    stop: (conversation_id) => [
      { hook_event_name: 'stop', conversation_id, workspace_roots: ['/workspace/project'], status: 'completed' },
    ],
    childStop: (conversation_id) => [
      { hook_event_name: 'subagentStop', conversation_id, subagent_id: 's1', status: 'completed' },
    ],
  },
  opencode: {
    text: reasonOf,
    prompt: (sessionID, text) => [
      { input: { sessionID }, output: { parts: [{ type: 'text', text }] }, directory: '/workspace/project' },
      'chat.message',
    ],
    tool: (sessionID) => [
      { input: { sessionID, tool: 'bash' }, output: {}, directory: '/workspace/project' },
      'tool.execute.after',
    ],
    toolStart: (sessionID) => [
      { input: { sessionID, tool: 'bash' }, directory: '/workspace/project' },
      'tool.execute.before',
    ],
    stop: (sessionID) => [{ ...opencode('session.idle'), properties: { sessionID }, directory: '/workspace/project' }],
    plan: (sessionID, content) => [
      { type: 'todo.updated', properties: { sessionID, todos: [{ content, status: 'pending' }] } },
    ],
  },
  agy: {
    text: reasonOf,
    // Its calls do not contain the prompt.
    prompt: (conversationId) => [{ ...agy('PreInvocation'), conversationId }, 'PreInvocation'],
    tool: (conversationId) => [{ ...agy('PostInvocation'), conversationId }, 'PostInvocation'],
    stop: (conversationId) => [{ ...agy('Stop'), conversationId }, 'Stop'],
  },
  kiro: {
    text: reasonOf,
    prompt: (session_id, prompt) => [{ ...kiro('UserPromptSubmit'), session_id, prompt }],
    tool: (session_id) => [{ ...kiro('PostToolUse'), session_id }],
    toolStart: (session_id) => [{ ...kiro('PreToolUse'), session_id }],
    stop: (session_id) => [{ ...kiro('Stop'), session_id }],
  },
  droid: {
    text: reasonOf,
    prompt: (session_id, prompt) => [{ ...droid('UserPromptSubmit.documented'), session_id, prompt }],
    tool: (session_id) => [{ ...droid('PostToolUse'), session_id }],
    toolStart: (session_id) => [{ ...droid('PreToolUse'), session_id }],
    stop: (session_id) => [{ ...droid('Stop'), session_id }],
    plan: (session_id, content) => [
      {
        ...droid('PostToolUse'),
        session_id,
        tool_name: 'TodoWrite',
        tool_input: { todos: `1. [pending] ${content}` },
        tool_response: '',
      },
    ],
  },
  goose: {
    text: reasonOf,
    prompt: (session_id, message) => [{ ...goose('UserPromptSubmit'), session_id, message }],
    tool: (session_id) => [{ ...goose('PostToolUse'), session_id }],
    toolStart: (session_id) => [{ ...goose('PreToolUse'), session_id }],
    // The hook command adds the folder.
    stop: (session_id) => [{ ...goose('Stop'), session_id, cwd: '/workspace/project' }],
  },
  kimi: {
    text: (answer) => {
      const { hookSpecificOutput: output } = (answer ?? {}) as {
        hookSpecificOutput?: { permissionDecisionReason?: string };
      };
      return output?.permissionDecisionReason;
    },
    prompt: (session_id, text) => [{ ...kimi('UserPromptSubmit'), session_id, prompt: [{ type: 'text', text }] }],
    tool: (session_id) => [{ ...kimi('PostToolUse.Write'), session_id }],
    toolStart: (session_id) => [{ ...kimi('PreToolUse'), session_id, tool_call_id: 'call_fake_2_0' }],
    stop: (session_id) => [{ ...kimi('Stop'), session_id }],
    plan: (session_id, title) => [
      { ...kimi('PreToolUse.TodoList'), session_id, tool_input: { todos: [{ title, status: 'pending' }] } },
    ],
  },
  cline: {
    // Its stops cannot be blocked, so the text is for the person.
    text: (answer) => (answer as { note?: string } | null)?.note?.replace(/^stopgate: .*? cannot do that\. /, ''),
    prompt: (id, prompt) => [
      { ...ofCline('TaskStart', id), hookName: 'prompt_submit', userPromptSubmit: { prompt, attachments: [] } },
      'UserPromptSubmit',
    ],
    tool: (id) => [ofCline('PostToolUse', id), 'PostToolUse'],
    toolStart: (id) => [ofCline('PreToolUse', id), 'PreToolUse'],
    stop: (id) => [ofCline('TaskComplete', id), 'TaskComplete'],
  },
  shell: {
    text: reasonOf,
    prompt: (worker, text) => [{ worker, event: 'prompt', text, cwd: '/workspace/project' }],
    tool: (worker) => [{ worker, event: 'tool', cwd: '/workspace/project' }],
    toolStart: (worker) => [{ worker, event: 'tool-start', cwd: '/workspace/project' }],
    stop: (worker) => [{ worker, cwd: '/workspace/project' }],
    plan: (worker, title) => [{ worker, event: 'plan', steps: [{ title, status: 'pending' }] }],
  },
};
const nameOf = (form: string) => form.split(' ')[0] as string;

/** Every agent, some in more than one form. */
export const scripts = Object.entries(forms).map(([form, script]) => ({ form, agent: nameOf(form), script }));
/** The agents that report what a prompt says. */
export const withPromptText = scripts.filter(({ agent }) => agent !== 'agy');
/** The agents that have a plan. */
export const withPlan = scripts.flatMap(({ script: { plan, ...script }, ...rest }) =>
  plan ? [{ ...rest, script: { ...script, plan } }] : [],
);
/** The agents that report when a tool starts. */
export const withToolStart = scripts.flatMap(({ script: { toolStart, ...script }, ...rest }) =>
  toolStart ? [{ ...rest, script: { ...script, toolStart } }] : [],
);
/** The agents whose sub-agents ask to stop. */
export const withChildStop = scripts.flatMap(({ script: { childStop, ...script }, ...rest }) =>
  childStop ? [{ ...rest, script: { ...script, childStop } }] : [],
);
