/**
 * Determines which files a tool call may have changed. Each adapter lists its agent's known tools. Any other tool, such
 * as one of an MCP server, a plugin or a newer version, may have changed any file.
 */
import { filesInPatch, patchInCommand } from './patch.ts';
import { commandIn, isReadOnly, shownCommand } from './shell-command.ts';
import { readShellOutcome, type ShellOutcome } from './shell-outcome.ts';

type Input = Readonly<Record<string, unknown>>;

/** The tools of an agent, by the agent's own names. */
export type KnownTools = {
  /** Tools that never change a file in the worker's folder. */
  readonly harmless: readonly string[];
  /** Tools that change only the files named in these fields of their input. */
  readonly writers: Readonly<Record<string, readonly string[]>>;
  /** Tools that change only the files named in the patch in one of these fields. */
  readonly patches?: Readonly<Record<string, readonly string[]>>;
  /** Tools that run the command in one of these fields. */
  readonly shells: Readonly<Record<string, readonly string[]>>;
  /** Shells that report their result when the command starts. */
  readonly starters?: readonly string[];
};

export type ToolChanges = {
  readonly changes: 'none' | 'files' | 'unknown';
  /** The names that the agent used. */
  readonly files: readonly unknown[];
  /** The command that a shell ran. Missing if there was none or it is still running. */
  readonly command?: string;
  /** Set if the command failed, even if the agent reports the call as successful. */
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
  // A failed write has changed nothing.
  if (writes !== undefined) return ok ? { changes: 'files', files: valuesOf(input, writes) } : none;
  const patched = own(tools.patches ?? {}, tool);
  // A failed patch may have changed some of its files.
  if (patched !== undefined) return { changes: 'files', files: valuesOf(input, patched).flatMap(filesInPatch) };
  const runs = own(tools.shells, tool);
  if (runs !== undefined) {
    const outcome = tools.starters?.includes(tool) ? 'running' : readShellOutcome(input, response);
    return readShell(valuesOf(input, runs)[0], outcome);
  }
  return readMcpTool(tool, input) ?? unknown;
}

/** The command that a shell ran, and the files that it may have changed. */
export function readShell(commandInput: unknown, outcome: ShellOutcome): ToolChanges {
  const { command, ...changes } = readCommand(commandInput);
  if (command === undefined || outcome === 'running') return changes;
  return { ...changes, command, ...(outcome === 'failed' ? { ok: false as const } : {}) };
}

/** The files that a command may change, regardless of its outcome. */
export function readCommand(commandInput: unknown): ToolChanges {
  const command = commandIn(commandInput);
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
 * Harmless tools of MCP servers (`mcp__<server>__<tool>`): the reading tools of a well-known server, and ours. No
 * others are trusted, because any server may use any name, and a tool that names one file may change others.
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
  // The tool may only read. Report its files only if its name suggests a write.
  const isWrite = /write|edit|create|move|rename|delete|remove|update|insert|replace|patch|append|save/i.test(name);
  return { changes: 'unknown', files: isWrite ? files : [] };
}
