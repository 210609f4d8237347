/** The `files` check: do these paths exist under the worker's folder? It opens and starts nothing. */
import { realpath } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { checkTimeoutMs, formatDuration, missingFilesMessage } from '../../machines/index.ts';
import type { CheckReply } from '../host/effects/check-reply.ts';
import type { RunRequest } from '../host/effects/run-request.ts';
import { createInterruption, type Interruption } from '../timer.ts';
import { findWorkerFolder, isInside, type WorkerPlace } from './folder.ts';
import { cancelled, quote } from './reply.ts';

type FilesRequest = Extract<RunRequest, { kind: 'files' }>;

const listedBytesMax = 12_288; // the names are in the reason and in the feedback, and a result has 32 KiB

/** A path that leaves the folder, by name or by symlink, is an error and not a missing file: the policy is wrong. */
export async function checkFiles(request: FilesRequest, place: WorkerPlace, signal: AbortSignal): Promise<CheckReply> {
  const timeoutMs = request.timeoutMs ?? checkTimeoutMs;
  const stop = createInterruption(timeoutMs, signal);
  try {
    // A file system may hang for ever, so the wait for it ends with the time.
    const finding = await Promise.race([findMissing(request, place, stop), stop.happened]);
    if (typeof finding === 'object') return finding;
    if (finding === 'cancelled') return cancelled;
    return { outcome: 'timeout', reason: `Looking at the files took longer than ${formatDuration(timeoutMs)}` };
  } finally {
    stop.clear();
  }
}

async function findMissing({ cwd, files }: FilesRequest, place: WorkerPlace, stop: Interruption): Promise<CheckReply> {
  const folder = await findWorkerFolder(cwd, place);
  if ('reason' in folder) return { outcome: 'error', reason: folder.reason };
  const missing: string[] = [];
  for (const file of files) {
    if (stop.cause !== null) return cancelled;
    const found = await checkFile(file, folder.path);
    if (found === 'missing') missing.push(file);
    else if (found !== 'there') return { outcome: 'error', reason: found.reason };
  }
  return missing.length === 0 ? { outcome: 'pass' } : missingFinding(missing);
}

async function checkFile(file: string, folder: string): Promise<'there' | 'missing' | { reason: string }> {
  const wrong = (why: string) => ({ reason: `the required file ${quote(file)} ${why}` });
  if (file === '' || file.includes('\0')) return wrong('is not a file name');
  if (isAbsolute(file)) return wrong("is absolute: files are relative to the worker's folder");
  const path = resolve(folder, file);
  if (!isInside(folder, path)) return wrong("lies outside the worker's folder");
  try {
    return isInside(folder, await realpath(path)) ? 'there' : wrong("leads out of the worker's folder by a symlink");
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : wrong(`cannot be looked at (${code})`);
  }
}

/** Lists as many names as fit, and how many are left out. */
function missingFinding(missing: readonly string[]): CheckReply {
  let bytes = 0;
  const listed = missing.filter((file) => {
    bytes += Buffer.byteLength(file) + 2;
    return bytes <= listedBytesMax;
  });
  const more = missing.length - listed.length;
  const reason = `${missingFilesMessage(listed)}${more > 0 ? ` and ${more} more` : ''}`;
  return { outcome: 'fail', reason, feedback: { missing: listed, ...(more > 0 && { more }) } };
}
