/** The tools of Claude Code. Seen with 2.1.330. */
import type { KnownTools } from '../shared/tool-changes.ts';

/**
 * Not harmless: `Agent`, `Task` and `Workflow`, whose sub-agents may change any file; `Skill` and `SlashCommand`, which may
 * run commands of their text; `EnterWorktree` and `ExitWorktree`. The result of a background
 * shell comes at its start, so `TaskOutput`, `BashOutput` and `AgentOutputTool`, which show its end, may come after changes that
 * nothing else has told.
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
  ],
  writers: {
    Write: ['file_path'],
    Edit: ['file_path'],
    MultiEdit: ['file_path'],
    NotebookEdit: ['notebook_path'],
  },
  shells: { Bash: ['command'], Monitor: ['command'] },
  starters: ['Monitor'],
};
