/** The agents in rows.ts for the hook command. Loaded at every call of one of them, so keep the imports minimal. */
import { type HookAgent, oneOf } from '../../hook-command/agent.ts';
import { type BlockForm, type Meaning, type TableRow, tableRows } from './rows.ts';

/** All names of the events with this meaning. */
export const eventsThatMean = ({ events, alsoReads = {} }: TableRow, meaning: Meaning): readonly string[] =>
  Object.entries({ ...alsoReads, ...events }).flatMap(([event, means]) => (means === meaning ? [event] : []));

const blocks: Readonly<Record<BlockForm, (reason: string) => object | null>> = {
  block: (reason) => ({ decision: 'block', reason }),
  continue: (reason) => ({ decision: 'continue', reason }),
  deny: (reason) => ({ hookSpecificOutput: { permissionDecision: 'deny', permissionDecisionReason: reason } }),
  none: () => null,
};

/** Returns the answer that blocks a stop, or null if the agent has none. */
export const blockOf = ({ block }: Pick<TableRow, 'block'>, reason: string): object | null => blocks[block](reason);

function hookCommandOf(row: TableRow): HookAgent {
  return {
    stopTimeoutMs: 595_000,
    isStop: oneOf(...eventsThatMean(row, 'stop')),
    ...(row.addsContext ? { isChecked: oneOf(...eventsThatMean(row, 'tool-end')) } : {}),
    ...(row.runsInFolder ? { addsFolder: true } : {}),
    allow: (note) => ({ body: row.showsMessages ? { systemMessage: note } : null, exitCode: 0 }),
    block(reason, note) {
      const answer = blockOf(row, reason);
      return { body: answer && row.showsMessages ? { ...answer, systemMessage: note } : answer, exitCode: 0 };
    },
  };
}

export const tableCommands: ReadonlyMap<string, HookAgent> = new Map(
  tableRows.map((row) => [row.name, hookCommandOf(row)]),
);
