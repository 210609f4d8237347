/** Finds the recorded sessions of Claude Code and Codex in files and folders. */
import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { claudeTranscripts } from '../agents/claude/transcript.ts';
import { codexRollouts } from '../agents/codex/rollout.ts';
import { type Recording, timeOf } from '../agents/recording.ts';
import { AppError } from '../errors.ts';
import { describeSystemError } from '../system-error.ts';
import { parseLine, type ReadLines, type SessionFile, type SessionFiles } from './session-files.ts';

export type FoundSessions = {
  /** In the order in which they began. */
  readonly sessions: readonly SessionFiles[];
  readonly files: number;
  /** Files that do not name a session. */
  readonly strange: readonly string[];
};

const recordings: readonly Recording[] = [claudeTranscripts, codexRollouts];

/** A file names its session within these first lines. Claude Code writes a few lines about its queue first. */
const headLinesMax = 200;

/** Files read at the same time, each with a chunk of 64 KiB. Most of the time is spent waiting for the disk. */
const headsAtOnce = 16;

type Found = SessionFile & { readonly recording: Recording; readonly changedMs: number };

/** @param sinceMs files that did not change since then are not read */
export async function findSessions(
  paths: readonly string[],
  { sinceMs, readLines }: { readonly sinceMs: number; readonly readLines: ReadLines },
): Promise<FoundSessions> {
  const files = new Map<string, number>();
  for (const path of paths) for (const file of await listFiles(path)) await addFile(files, file);
  const recent = [...files].filter(([, changedMs]) => changedMs >= sinceMs);
  const strange: string[] = [];
  const found: Found[] = [];
  for (let from = 0; from < recent.length; from += headsAtOnce) {
    const some = recent.slice(from, from + headsAtOnce);
    const heads = await Promise.all(some.map(([path]) => readHead(path, readLines)));
    for (const [index, [path, changedMs]] of some.entries()) {
      const head = heads[index] ?? null;
      if (head === null) strange.push(path);
      else found.push({ ...head, path, changedMs });
    }
  }
  return { sessions: group(found), files: found.length, strange };
}

/** A file that is named twice, or is reached through a link too, counts once. */
async function addFile(files: Map<string, number>, path: string): Promise<void> {
  files.set(await realpath(path), (await stat(path)).mtimeMs);
}

/** @throws AppError input.bad if the path cannot be read */
async function listFiles(path: string): Promise<readonly string[]> {
  const found = await stat(path).catch((cause: unknown) => {
    throw new AppError('input.bad', `cannot read '${path}': ${describeSystemError(cause)}`, { cause });
  });
  if (!found.isDirectory()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.jsonl'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

async function readHead(path: string, readLines: ReadLines): Promise<Omit<Found, 'path' | 'changedMs'> | null> {
  let fromMs: number | null = null;
  let count = 0;
  for await (const lines of readLines(path))
    for (const line of lines) {
      count += 1;
      if (count > headLinesMax) return null;
      const fields = parseLine(line, () => false);
      if (fields === null || fields === undefined) continue;
      fromMs ??= timeOf(fields.timestamp);
      for (const recording of recordings) {
        const identity = recording.identify(fields);
        if (identity !== null) return { recording, identity, fromMs };
      }
    }
  return null;
}

/**
 * Groups the files by session. Sessions that began earlier come first, so that a fork, which begins with a copy, comes
 * after its original. If both began at the same time, the session that changed last is the fork.
 */
function group(found: readonly Found[]): SessionFiles[] {
  const groups = new Map<string, Found[]>();
  for (const file of found) {
    const key = `${file.recording.agent} ${file.identity.session}`;
    groups.set(key, [...(groups.get(key) ?? []), file]);
  }
  const began = (files: readonly Found[]) => Math.min(...files.map(({ fromMs }) => fromMs ?? 0));
  const changed = (files: readonly Found[]) => Math.max(...files.map(({ changedMs }) => changedMs));
  return [...groups.values()]
    .sort((a, b) => began(a) - began(b) || changed(a) - changed(b))
    .flatMap((files) => {
      const main = files.filter(({ identity }) => identity.child === null);
      const children = files.filter(({ identity }) => identity.child !== null);
      const [first] = [...main, ...children];
      if (first === undefined) return [];
      const { recording, identity, path } = first;
      return [{ agent: recording.agent, recording, session: identity.session, file: path, main, children }];
    });
}
