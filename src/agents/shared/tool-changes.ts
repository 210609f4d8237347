/**
 * What a tool may have changed. Each agent lists the tools that it is known to have. A tool that is on none of its lists,
 * as any of an MCP server, a newer version or a plugin, may have changed any file.
 */
import { filesInPatch, patchInCommand } from './patch.ts';
import { commandIn, isReadOnly, shownCommand } from './shell-command.ts';
import { readShellOutcome, type ShellOutcome } from './shell-outcome.ts';

type Input = Readonly<Record<string, unknown>>;

/** The tools of an agent, by the agent's own names. */
export type KnownTools = {
  /** They change no file of a worker's folder, whatever they are given. */
  readonly harmless: readonly string[];
  /** They change only the files that these fields of their input name. */
  readonly writers: Readonly<Record<string, readonly string[]>>;
  /** They change only the files that the patch in one of these fields names. */
  readonly patches?: Readonly<Record<string, readonly string[]>>;
  /** They run the command in one of these fields. */
  readonly shells: Readonly<Record<string, readonly string[]>>;
  /** Shells whose result comes at the start of their command. */
  readonly starters?: readonly string[];
};

/** `files`: as the agent names them. */
export type ToolChanges = {
  readonly changes: 'none' | 'files' | 'unknown';
  readonly files: readonly unknown[];
  /** What a shell ran. Missing: nothing, or it still runs, so that nobody knows yet how it ends. */
  readonly command?: string;
  /** The command failed, whatever the agent says of the call. */
  readonly ok?: false;
};

const unknown: ToolChanges = { changes: 'unknown', files: [] };
const none: ToolChanges = { changes: 'none', files: [] };

export function readToolChanges(
  tools: KnownTools,
  tool: string | undefined,
  input: Input = {},
  ok = true,
  response: unknown = undefined,
): ToolChanges {
  if (tool === undefined || tool === '') return unknown;
  if (tools.harmless.includes(tool)) return none;
  const writes = own(tools.writers, tool);
  // A write that has failed is known to have changed nothing.
  if (writes !== undefined) return ok ? { changes: 'files', files: valuesOf(input, writes) } : none;
  const patched = own(tools.patches ?? {}, tool);
  // One that has failed may have changed some of its files.
  if (patched !== undefined) return { changes: 'files', files: valuesOf(input, patched).flatMap(filesInPatch) };
  const runs = own(tools.shells, tool);
  if (runs !== undefined) {
    const outcome = tools.starters?.includes(tool) ? 'running' : readShellOutcome(input, response);
    return readShell(valuesOf(input, runs)[0], outcome);
  }
  return readMcpTool(tool, input) ?? unknown;
}

/** What a shell has run, and may have changed by it. */
export function readShell(given: unknown, outcome: ShellOutcome): ToolChanges {
  const { command, ...changes } = readCommand(given);
  if (command === undefined || outcome === 'running') return changes;
  return { ...changes, command, ...(outcome === 'failed' ? { ok: false as const } : {}) };
}

/** What a shell may have changed by this command. */
export function readCommand(given: unknown): ToolChanges {
  const command = commandIn(given);
  if (command === undefined) return unknown;
  const shown = shownCommand(command);
  const files = filesInPatch(patchInCommand(command));
  const changes = files.length === 0 && isReadOnly(command) ? 'none' : 'unknown';
  return { changes, files, command: shown };
}

const own = <Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

const valuesOf = (input: Input, keys: readonly string[]): unknown[] =>
  keys.map((key) => input[key]).filter((value) => value !== undefined && value !== null);

/**
 * Tools of MCP servers, `mcp__<server>__<tool>`. Anybody may name a server and a tool as these are named, and a tool may do
 * more than it says; so only those count as harmless that a well-known server offers for reading, and ours. A tool that
 * names a file may still have changed others.
 */
const mcpReaders: Readonly<Record<string, readonly string[]>> = {
  filesystem: [
    'read_file',
    'read_text_file',
    'read_media_file',
    'read_multiple_files',
    'list_directory',
    'list_directory_with_sizes',
    'directory_tree',
    'search_files',
    'get_file_info',
    'list_allowed_directories',
  ],
  stopgate: [
    'decide',
    'probe',
    'verify',
    'worker_get',
    'task_get',
    'task_next',
    'task_claim',
    'task_complete',
    'task_fail',
    'task_release',
  ],
};
const mcpFileKeys = ['path', 'file_path', 'filePath', 'filename', 'file', 'source', 'destination', 'new_path'];

function readMcpTool(tool: string, input: Input): ToolChanges | null {
  const [, server = '', name = ''] = /^mcp__(.+?)__(.+)$/.exec(tool) ?? [];
  if (server === '') return null;
  if (own(mcpReaders, server)?.includes(name)) return none;
  const files = valuesOf(input, mcpFileKeys).filter((file) => typeof file === 'string');
  // A read of another server's may be no write at all; its file is not named then, since nobody knows that it changed.
  const isWrite = /write|edit|create|move|rename|delete|remove|update|insert|replace|patch|append|save/i.test(name);
  return { changes: 'unknown', files: isWrite ? files : [] };
}
