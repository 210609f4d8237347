/** The tools of Claude Code, tested with 2.1.332, and in lower case those of Devin CLI, from its documentation. */
import type { KnownTools } from '../shared/tool-changes.ts';

/**
 * Deliberately not harmless: `Agent`, `Task` and `Workflow` (their sub-agents may change any file), `Skill` and
 * `SlashCommand` (may run commands), `EnterWorktree` and `ExitWorktree`, and `TaskOutput`, `BashOutput` and
 * `AgentOutputTool`. The last three report on background shells, whose changes since their start are reported nowhere
 * else.
 */
export const claudeTools: KnownTools = {
  harmless: [
    'Read',
    'Glob',
    'Grep',
    'LS',
    'NotebookRead',
    'LSP',
    'WebFetch',
    'WebSearch',
    'ToolSearch',
    'AskUserQuestion',
    'EnterPlanMode',
    'ExitPlanMode',
    'TodoRead',
    'TodoWrite',
    'TaskCreate',
    'TaskUpdate',
    'TaskList',
    'TaskGet',
    'TaskStop',
    'KillShell',
    'KillBash',
    'CronCreate',
    'CronDelete',
    'CronList',
    'ScheduleWakeup',
    'SendMessage',
    'SendUserMessage',
    'ListMcpResourcesTool',
    'ReadMcpResourceTool',
    'StructuredOutput',
    'read',
    'grep',
    'glob',
    'webfetch',
  ],
  writers: {
    Write: ['file_path'],
    Edit: ['file_path'],
    MultiEdit: ['file_path'],
    NotebookEdit: ['notebook_path'],
    write: ['file_path'],
    edit: ['file_path'],
  },
  shells: { Bash: ['command'], Monitor: ['command'], exec: ['command'] },
  starters: ['Monitor'],
};
