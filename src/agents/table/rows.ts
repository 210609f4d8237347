/**
 * Agents whose hooks look like Claude Code's: one row each. To add one, add a row, its recordings and its docs; the
 * adapter, the hook command, `init` and `doctor` follow from the row. Loaded by the hook command at every call, so this
 * file imports no code but Node's own. docs/agents/capabilities.md says what was tested, and what follows the vendor's
 * page.
 */
import { join } from 'node:path';
import type { ListedSwitch } from '../doctor/switches.ts';
import type { Program } from '../setup/local-context.ts';
import type { KnownTools } from '../shared/tool-changes.ts';

/** What an event of an agent means to us. */
export type Meaning =
  | 'start'
  /** A prompt was submitted. Without its text, the last decision tells whether it continues a blocked stop. */
  | 'prompt'
  | 'tool-start'
  | 'tool-end'
  | 'tool-failed'
  | 'stop'
  /** A turn ended with an error. Only a usage limit is recorded. */
  | 'failure'
  | 'end'
  /** It only shows that the session is alive. */
  | 'alive';

/** Our names of the fields that are read from a call, each with the agent's own path (`a.b.0`) or several to try. */
export type FieldPaths = { readonly session_id: Paths } & Partial<Readonly<Record<Field, Paths>>>;
export type Paths = string | readonly string[];
type Field =
  | 'hook_event_name'
  | 'cwd'
  | 'source'
  | 'permission_mode'
  | 'prompt'
  | 'tool_name'
  | 'tool_input'
  | 'tool_use_id'
  | 'tool_response'
  | 'last_assistant_message'
  | 'reason'
  /** A sub-agent's id. Its parent is the session. */
  | 'agent_id'
  /** Set if the caller is a sub-agent. */
  | 'parent_id'
  /** The number of a model call within its turn; the first call of a turn has 0. */
  | 'invocation'
  /** False while background work of the session runs. */
  | 'idle'
  | 'error_type'
  | 'error_details'
  /** False if a reported tool has failed. */
  | 'success';

/** The form of the answer that makes the agent continue. `none` if its hooks cannot block a stop. */
export type BlockForm = 'block' | 'continue' | 'deny' | 'none';

/** The form of its settings (settings.ts). */
export type SettingsForm =
  /** Lists of groups, by event, under this key, or at the top level of the file if it is null. */
  | { readonly kind: 'groups'; readonly under: string | null }
  /** Lists of handlers, by event, under this key. */
  | { readonly kind: 'handlers'; readonly under: string }
  /** A list of hooks that name their event. */
  | { readonly kind: 'list'; readonly head: object }
  /** A table `[[hooks]]` per event, in TOML. */
  | { readonly kind: 'toml' }
  /** A script per event, named after it, in a folder. */
  | { readonly kind: 'scripts'; readonly extension: string };

export type TableRow = {
  /** The name in `stopgate init <name>`, in lower-case letters. */
  readonly name: string;
  readonly title: string;
  /** The vendor's page about its hooks. */
  readonly page: string;
  readonly program: Program;
  readonly settings: {
    readonly form: SettingsForm;
    /** Relative to the project's folder. Null if it reads no hooks of a project. */
    readonly project: readonly string[] | null;
    /** Relative to `program.folder`. */
    readonly user: readonly string[];
    /** A second file that the hooks need, beside the first (`..` allowed), if it does not exist yet. */
    readonly beside?: { readonly path: readonly string[]; readonly content: object };
    /** Switches that turn hooks off. */
    readonly switches?: readonly Switch[];
  };
  readonly fields: FieldPaths;
  /** The events that `init` writes. Their order is that of the settings. */
  readonly events: Readonly<Record<string, Meaning>>;
  /** More names under which these events arrive, for example in the body, and events that `init` does not write. */
  readonly alsoReads?: Readonly<Record<string, Meaning>>;
  /** True if its calls do not name their event as `hook_event_name`, so the command and the URL do. */
  readonly namesNoEvent?: true;
  readonly tools: KnownTools;
  /**
   * False if the end of a tool is not reported in every case (a failed tool, a hook that is killed). The start then
   * counts as a change. Null if tools are not reported at all: every turn may have changed any file.
   */
  readonly reportsToolEnds: boolean | null;
  /** The tool that writes its plan, the field with the list, and the field with a step's title. */
  readonly plan?: { readonly tool: string; readonly list: string; readonly title: string };
  readonly block: BlockForm;
  /** True if it shows `systemMessage` to the person. */
  readonly showsMessages?: true;
  /** True if a hook can keep a prompt from the model, in the form of a block. */
  readonly holdsPrompts?: true;
  /** True if `contextModification` after a tool reaches the model, and `cancel` ends the run. */
  readonly addsContext?: true;
  /** True if its hooks run in the folder of the session, which its stops do not name. The hook command adds it. */
  readonly runsInFolder?: true;
  /** The number of consecutive blocks after which it stops anyway. Missing if no such limit is known. */
  readonly blocks?: { readonly most: number; readonly raise?: string };
  /** How to resume a session with a prompt. */
  readonly resume: ((session: string, prompt: string) => readonly string[]) | null;
  /** A turn of the real program against a model with OpenAI's chat completions API. Null if that is not possible. */
  readonly dryTurn: RowDryTurn | null;
};

export type Switch = Omit<ListedSwitch, 'files'> & {
  /** Relative to the folder of the project, and to that of the user's settings. */
  readonly project?: readonly string[];
  readonly user?: readonly string[];
};

export type RowDryTurn = {
  /** Returns the contents of files by their path in the home folder. @param model the model's address */
  readonly files: (model: string) => Readonly<Record<string, string>>;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** False if the agent does not ask again after a block. Default: true. */
  readonly asksAgain?: false;
};

const claudeFields = {
  session_id: 'session_id',
  hook_event_name: 'hook_event_name',
  cwd: 'cwd',
  source: 'source',
  permission_mode: 'permission_mode',
  prompt: 'prompt',
  tool_name: 'tool_name',
  tool_input: 'tool_input',
  tool_use_id: 'tool_use_id',
  tool_response: 'tool_response',
  last_assistant_message: 'last_assistant_message',
  reason: 'reason',
} as const satisfies FieldPaths;

const noTools: KnownTools = { harmless: [], writers: {}, shells: {} };

/** Its `Stop` hook blocks a stop with `continue`. The word `block` must never be sent to it. */
const agy: TableRow = {
  name: 'agy',
  title: 'Antigravity CLI',
  page: 'https://antigravity.google/docs/hooks',
  program: { binary: 'agy', testedVersion: null, folder: ({ home }) => join(home, '.gemini', 'config') },
  settings: {
    // Each top-level key is a named set of hooks. Any other key makes agy ignore the whole file.
    form: { kind: 'handlers', under: 'stopgate' },
    project: ['.agents', 'hooks.json'],
    user: ['hooks.json'],
    switches: [{ project: ['.agents', 'hooks.json'], user: ['hooks.json'], path: 'stopgate.enabled', off: false }],
  },
  fields: {
    session_id: 'conversationId',
    cwd: 'workspacePaths.0',
    invocation: 'invocationNum',
    idle: 'fullyIdle',
    error_details: 'error',
  },
  events: { SessionStart: 'start', PreInvocation: 'prompt', Stop: 'stop' },
  alsoReads: { PostInvocation: 'alive' },
  namesNoEvent: true,
  // Current versions run no hooks for tools.
  tools: noTools,
  reportsToolEnds: null,
  block: 'continue',
  resume: (session, prompt) => ['agy', '--conversation', session, '-p', prompt],
  dryTurn: null,
};

const kiro: TableRow = {
  name: 'kiro',
  title: 'Kiro CLI',
  page: 'https://kiro.dev/docs/cli/v3/hooks/',
  program: { binary: 'kiro-cli', testedVersion: null, folder: ({ home }) => join(home, '.kiro') },
  settings: {
    form: { kind: 'list', head: { version: 'v1' } },
    project: ['.kiro', 'hooks', 'stopgate.json'],
    user: ['hooks', 'stopgate.json'],
  },
  fields: { ...claudeFields, last_assistant_message: ['last_assistant_message', 'assistant_response'] },
  events: {
    SessionStart: 'start',
    UserPromptSubmit: 'prompt',
    PreToolUse: 'tool-start',
    PostToolUse: 'tool-end',
    Stop: 'stop',
  },
  // The names of the hooks in agent files, of version 2.
  alsoReads: {
    agentSpawn: 'start',
    userPromptSubmit: 'prompt',
    preToolUse: 'tool-start',
    postToolUse: 'tool-end',
    stop: 'stop',
  },
  tools: {
    harmless: ['fs_read', 'read', 'glob', 'grep', 'web_search', 'web_fetch'],
    writers: { fs_write: ['path'], write: ['path'] },
    shells: { execute_bash: ['command'], shell: ['command'] },
  },
  reportsToolEnds: false,
  block: 'block',
  // Version 3 does not ask again after a block.
  blocks: { most: 1 },
  resume: (session, prompt) => ['kiro-cli', 'chat', '--resume-id', session, prompt],
  dryTurn: null,
};

const droid: TableRow = {
  name: 'droid',
  title: 'Factory Droid',
  page: 'https://docs.factory.ai/harness/hooks',
  program: { binary: 'droid', testedVersion: '0.225.2', folder: ({ home }) => join(home, '.factory') },
  settings: {
    // Under a key "hooks" it ignores them in this file.
    form: { kind: 'groups', under: null },
    project: ['.factory', 'hooks.json'],
    user: ['hooks.json'],
    switches: [
      { project: ['.factory', 'hooks.json'], user: ['hooks.json'], path: 'hooksDisabled', off: true },
      { project: ['.factory', 'settings.json'], user: ['settings.json'], path: 'hooksDisabled', off: true },
    ],
  },
  fields: claudeFields,
  events: {
    SessionStart: 'start',
    UserPromptSubmit: 'prompt',
    PreToolUse: 'tool-start',
    PostToolUse: 'tool-end',
    Stop: 'stop',
    SessionEnd: 'end',
  },
  // A sub-agent's stop names its parent's session and no sub-agent.
  alsoReads: { SubagentStop: 'alive', Notification: 'alive', PreCompact: 'alive' },
  tools: {
    harmless: ['Read', 'LS', 'Grep', 'Glob', 'WebSearch', 'FetchUrl', 'ToolSearch', 'TodoWrite', 'AskUser', 'TaskStop'],
    writers: { Create: ['file_path'], Edit: ['file_path'] },
    patches: { ApplyPatch: ['input', 'patch'] },
    shells: { Execute: ['command'] },
  },
  // It reports no end of a tool that failed.
  reportsToolEnds: false,
  plan: { tool: 'TodoWrite', list: 'todos', title: 'content' },
  block: 'block',
  showsMessages: true,
  holdsPrompts: true,
  resume: (session, prompt) => ['droid', 'exec', '--session-id', session, prompt],
  dryTurn: {
    files: (model) => ({ '.factory/settings.json': JSON.stringify(droidSettings(model)) }),
    args: ['exec', '--model', 'custom:fake-0', 'Say hello.'],
    // Needs no login and does not call Factory's own service.
    env: { FACTORY_AIRGAP_ENABLED: 'true', FACTORY_DISABLE_KEYRING: 'true' },
  },
};

function droidSettings(model: string): object {
  const custom = {
    id: 'custom:fake-0',
    index: 0,
    model: 'fake',
    displayName: 'fake',
    baseUrl: `${model}/v1`,
    apiKey: 'none',
    provider: 'generic-chat-completion-api',
    maxOutputTokens: 4_096,
  };
  return { customModels: [custom], sessionDefaultSettings: { model: custom.id } };
}

const goose: TableRow = {
  name: 'goose',
  title: 'Goose',
  page: 'https://github.com/block/goose/blob/main/documentation/docs/guides/context-engineering/hooks.md',
  program: { binary: 'goose', testedVersion: null, folder: ({ home }) => join(home, '.agents') },
  settings: {
    form: { kind: 'groups', under: 'hooks' },
    project: ['.agents', 'plugins', 'stopgate', 'hooks', 'hooks.json'],
    user: ['plugins', 'stopgate', 'hooks', 'hooks.json'],
    beside: {
      path: ['..', 'plugin.json'],
      content: { name: 'stopgate', version: '1.0.0', description: 'Asks stopgate whether goose may stop' },
    },
    switches: [
      {
        project: ['.config', 'goose', 'settings.json'],
        user: ['..', '.config', 'goose', 'settings.json'],
        path: 'disabledPlugins',
        off: 'stopgate',
      },
    ],
  },
  fields: {
    session_id: 'session_id',
    hook_event_name: 'event',
    cwd: ['working_dir', 'cwd'],
    prompt: 'message',
    tool_name: 'tool_name',
    tool_input: 'tool_input',
    tool_use_id: 'tool_call_id',
    tool_response: 'tool_output',
    last_assistant_message: 'last_assistant_message',
  },
  events: {
    SessionStart: 'start',
    UserPromptSubmit: 'prompt',
    PreToolUse: 'tool-start',
    PostToolUse: 'tool-end',
    PostToolUseFailure: 'tool-failed',
    Stop: 'stop',
    SessionEnd: 'end',
  },
  alsoReads: {
    PreToolUseResult: 'alive',
    BeforeReadFile: 'alive',
    AfterFileEdit: 'alive',
    BeforeShellExecution: 'alive',
    AfterShellExecution: 'alive',
  },
  namesNoEvent: true,
  tools: {
    harmless: ['developer__tree', 'developer__read_image'],
    writers: { developer__write: ['path'], developer__edit: ['path'] },
    shells: { developer__shell: ['command'] },
  },
  reportsToolEnds: true,
  block: 'block',
  runsInFolder: true,
  blocks: { most: 8, raise: 'set GOOSE_STOP_HOOK_BLOCK_CAP where goose is started' },
  resume: (session, prompt) => ['goose', 'run', '--resume', '--session-id', session, '--text', prompt],
  dryTurn: null,
};

/** Kimi Code CLI, and its predecessor in Python, which has the same hooks in another folder. */
const kimi: TableRow = {
  name: 'kimi',
  title: 'Kimi CLI',
  page: 'https://moonshotai.github.io/kimi-code/en/customization/hooks.html',
  program: {
    binary: 'kimi',
    testedVersion: '2.1.0',
    folder: ({ home, env }) => env.KIMI_CODE_HOME || join(home, '.kimi-code'),
  },
  settings: { form: { kind: 'toml' }, project: null, user: ['config.toml'] },
  fields: {
    ...claudeFields,
    tool_use_id: 'tool_call_id',
    tool_response: 'tool_output',
    error_type: 'error_type',
    error_details: 'error_message',
  },
  events: {
    SessionStart: 'start',
    UserPromptSubmit: 'prompt',
    PreToolUse: 'tool-start',
    PostToolUse: 'tool-end',
    PostToolUseFailure: 'tool-failed',
    Stop: 'stop',
    StopFailure: 'failure',
    SessionEnd: 'end',
  },
  alsoReads: {
    TurnStarted: 'alive',
    UserPromptQueued: 'alive',
    PermissionRequest: 'alive',
    PermissionResult: 'alive',
    SessionHeartbeat: 'alive',
    SubagentStart: 'alive',
    SubagentStop: 'alive',
    TaskStarted: 'alive',
    Interrupt: 'alive',
    PreCompact: 'alive',
    PostCompact: 'alive',
    Notification: 'alive',
  },
  tools: {
    harmless: [
      'Read',
      'ReadMediaFile',
      'Glob',
      'Grep',
      'FetchURL',
      'WebSearch',
      'TodoList',
      'AskUserQuestion',
      'EnterPlanMode',
      'ExitPlanMode',
      'CreateGoal',
      'GetGoal',
      'UpdateGoal',
      'SetGoalBudget',
      'CronCreate',
      'CronDelete',
      'CronList',
      'TaskList',
      'TaskStop',
    ],
    writers: { Write: ['path'], Edit: ['path'] },
    shells: { Bash: ['command'] },
  },
  // It kills this hook as soon as the model's next call begins.
  reportsToolEnds: false,
  plan: { tool: 'TodoList', list: 'todos', title: 'title' },
  block: 'deny',
  holdsPrompts: true,
  // It asks once a turn.
  blocks: { most: 1 },
  resume: (session, prompt) => ['kimi', '--session', session, '--prompt', prompt],
  dryTurn: {
    files: (model) => ({ '.kimi-code/config.toml': kimiConfig(model) }),
    args: ['--prompt', 'Say hello.'],
    env: {},
    asksAgain: false,
  },
};

const kimiConfig = (model: string): string => `default_model = "fake"
telemetry = false

[providers.fake]
type = "openai"
base_url = "${model}/v1"
api_key = "none"

[models.fake]
provider = "fake"
model = "fake"
max_context_size = 100000
capabilities = ["tool_use"]

`;

/** Its hooks cannot block a stop, because it does not wait for the hook of a completed task. */
const cline: TableRow = {
  name: 'cline',
  title: 'Cline',
  page: 'https://docs.cline.bot/features/hooks/hook-reference',
  program: {
    binary: 'cline',
    testedVersion: '3.0.65',
    folder: ({ home, env }) => env.CLINE_DIR || join(home, '.cline'),
  },
  settings: {
    // It finds a hook by its name without the extension, so a script of the user's with another extension runs too.
    form: { kind: 'scripts', extension: '.bash' },
    project: ['.cline', 'hooks'],
    user: ['hooks'],
  },
  fields: {
    session_id: ['sessionContext.rootSessionId', 'taskId'],
    hook_event_name: 'hookName',
    cwd: 'workspaceRoots.0',
    prompt: 'userPromptSubmit.prompt',
    tool_name: ['tool_call.name', 'tool_result.name', 'preToolUse.toolName', 'postToolUse.toolName'],
    tool_input: ['tool_call.input', 'tool_result.input', 'preToolUse.parameters', 'postToolUse.parameters'],
    tool_use_id: ['tool_call.id', 'tool_result.id'],
    tool_response: ['tool_result.output', 'postToolUse.result'],
    success: 'postToolUse.success',
    last_assistant_message: 'turn.outputText',
    reason: 'reason',
    agent_id: 'agent_id',
    parent_id: 'parent_agent_id',
    error_type: 'error.name',
    error_details: 'error.message',
  },
  events: {
    TaskStart: 'start',
    UserPromptSubmit: 'prompt',
    PreToolUse: 'tool-start',
    PostToolUse: 'tool-end',
    TaskComplete: 'stop',
    TaskError: 'failure',
    SessionShutdown: 'end',
  },
  alsoReads: {
    agent_start: 'start',
    agent_resume: 'start',
    prompt_submit: 'prompt',
    tool_call: 'tool-start',
    tool_result: 'tool-end',
    agent_end: 'stop',
    agent_error: 'failure',
    agent_abort: 'alive',
    session_shutdown: 'end',
    pre_compact: 'alive',
    TaskResume: 'start',
    TaskCancel: 'alive',
    PreCompact: 'alive',
  },
  namesNoEvent: true,
  tools: {
    harmless: [
      'read_files',
      'search_codebase',
      'fetch_web_content',
      'ask_question',
      'team_status',
      'team_read_mailbox',
    ],
    writers: { editor: ['path'] },
    shells: { run_commands: ['commands'] },
  },
  reportsToolEnds: true,
  block: 'none',
  addsContext: true,
  resume: (session, prompt) => ['cline', '--id', session, prompt],
  dryTurn: {
    files: (model) => ({ '.cline/data/settings/providers.json': JSON.stringify(clineProviders(model)) }),
    args: ['--json', 'Say hello.'],
    env: { AI_SDK_LOG_WARNINGS: 'false' },
    asksAgain: false,
  },
};

function clineProviders(model: string): object {
  const settings = { provider: 'openai-compatible', apiKey: 'none', model: 'fake', baseUrl: `${model}/v1` };
  return {
    version: 1,
    lastUsedProvider: 'openai-compatible',
    modes: {},
    providers: {
      'openai-compatible': { settings, updatedAt: '2026-01-01T00:00:00.000Z', tokenSource: 'manual' },
    },
  };
}

export const tableRows: readonly TableRow[] = [agy, kiro, droid, goose, kimi, cline];
