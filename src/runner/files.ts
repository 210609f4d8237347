/** The `files` check: whether paths exist in the worker's folder. It opens no files and starts no processes. */
import { realpath } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { checkTimeoutMs, formatDuration, missingFilesMessage } from '../../machines/index.ts';
import type { CheckReply } from '../host/effects/check-reply.ts';
import type { RunRequest } from '../host/effects/run-request.ts';
import { createInterruption, type Interruption } from '../timer.ts';
import { findWorkerFolder, isInside, type Workspace } from './folder.ts';
import { cancelled, quote } from './reply.ts';

type FilesRequest = Extract<RunRequest, { kind: 'files' }>;

const listedBytesMax = 12_288; // the names appear in the reason and in the feedback, and a result has at most 32 KiB

/** A path outside the folder, by name or by symlink, is an error rather than a missing file: the policy is wrong. */
export async function checkFiles(
  request: FilesRequest,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<CheckReply> {
  const timeoutMs = request.timeoutMs ?? checkTimeoutMs;
  const stop = createInterruption(timeoutMs, signal);
  try {
    // A file system may hang forever, so do not wait for it beyond the timeout.
    const reply = await Promise.race([findMissing(request, workspace, stop), stop.happened]);
    if (typeof reply === 'object') return reply;
    if (reply === 'cancelled') return cancelled;
    return { outcome: 'timeout', reason: `Checking the files took longer than ${formatDuration(timeoutMs)}` };
  } finally {
    stop.clear();
  }
}

async function findMissing(
  { cwd, files }: FilesRequest,
  workspace: Workspace,
  stop: Interruption,
): Promise<CheckReply> {
  const folder = await findWorkerFolder(cwd, workspace);
  if ('reason' in folder) return { outcome: 'error', reason: folder.reason };
  const missing: string[] = [];
  for (const file of files) {
    if (stop.cause !== null) return cancelled;
    const found = await checkFile(file, folder.path);
    if (found === 'missing') missing.push(file);
    else if (found !== 'exists') return { outcome: 'error', reason: found.reason };
  }
  return missing.length === 0 ? { outcome: 'pass' } : describeMissing(missing);
}

async function checkFile(file: string, folder: string): Promise<'exists' | 'missing' | { reason: string }> {
  const invalid = (why: string) => ({ reason: `the required file ${quote(file)} ${why}` });
  if (file === '' || file.includes('\0')) return invalid('is not a file name');
  if (isAbsolute(file)) return invalid("is absolute: files are relative to the worker's folder");
  const path = resolve(folder, file);
  if (!isInside(folder, path)) return invalid("lies outside the worker's folder");
  try {
    return isInside(folder, await realpath(path)) ? 'exists' : invalid("leads out of the worker's folder by a symlink");
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : invalid(`cannot be accessed (${code})`);
  }
}

/** Lists as many names as fit, and counts the rest. */
function describeMissing(missing: readonly string[]): CheckReply {
  let bytes = 0;
  const listed = missing.filter((file) => {
    bytes += Buffer.byteLength(file) + 2;
    return bytes <= listedBytesMax;
  });
  const more = missing.length - listed.length;
  const reason = `${missingFilesMessage(listed)}${more > 0 ? ` and ${more} more` : ''}`;
  return { outcome: 'fail', reason, feedback: { missing: listed, ...(more > 0 && { more }) } };
}
