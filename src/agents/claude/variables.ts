/** Variables of Claude Code that `init` sets in its settings. */

/** Its own cap of blocks in a row. */
export const blockCap = { name: 'CLAUDE_CODE_STOP_HOOK_BLOCK_CAP', mark: 'STOPGATE_BLOCK_CAP' } as const;
/** The tools by which it keeps a plan. */
export const planTools = { name: 'CLAUDE_CODE_ENABLE_TODO_TOOLS', mark: 'STOPGATE_PLAN_TOOLS' } as const;
