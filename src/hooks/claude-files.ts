/** Which files a tool call of Claude Code changed. */
import { posix, win32 } from 'node:path';
import type { ClaudeCall } from './claude-call.ts';

const pathKeys: ReadonlyMap<string, string> = new Map([
  ['Write', 'file_path'],
  ['Edit', 'file_path'],
  ['MultiEdit', 'file_path'],
  ['NotebookEdit', 'notebook_path'],
]);
const pathCharsMax = 4_096;

/**
 * Relative to `root` with forward slashes where the file lies inside it, so that a policy's `src/**` means the
 * worker's own folder wherever that is; else as the agent named it. Empty: no file that we know of (a shell may change
 * any number unseen).
 */
export function filesChanged(call: ClaudeCall, root: string | null): string[] {
  const key = pathKeys.get(call.tool_name ?? '');
  const file = key === undefined ? undefined : (call.tool_input?.[key] ?? call.tool_input?.file_path);
  if (typeof file !== 'string' || file === '' || file.length > pathCharsMax) return [];
  return [root === null ? file : withinRoot(file, root)];
}

/** The agent's machine need not be ours, so the shape of the paths says which rules hold. */
function withinRoot(file: string, root: string): string {
  const path = /^[A-Za-z]:[\\/]|^\\\\/.test(root) ? win32 : posix;
  if (!path.isAbsolute(root) || !path.isAbsolute(file)) return file;
  const relative = path.relative(root, file);
  const outside =
    relative === '' || relative === '..' || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative);
  return outside ? file : relative.replaceAll(path.sep, '/');
}
