/** import: restores the log of an empty fleet from an export and the archive. */
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isLogSubject, parseLogLine, payloadOf } from '../../../../machines/index.ts';
import { isId } from '../../../../machines/values/id.ts';
import { parseIsoTime } from '../../../../machines/values/time.ts';
import { loadConfig, refuseOtherService } from '../../../config/config.ts';
import { defaultCredentials } from '../../../config/store.ts';
import { AppError } from '../../../errors.ts';
import { createLogger } from '../../../log.ts';
import type { ImportedEntry, LogImport } from '../../../nats/log/log-import.ts';
import { messageBytesMax } from '../../../nats/log/stream-info.ts';
import type { Io } from '../../../terminal/process-io.ts';
import { defineCommand, words } from '../../command.ts';
import { findLogFiles, readLines } from '../../input.ts';
import { clientArgs } from '../../option-values.ts';
import { createTimeComparison, type TimedEntry } from './import-times.ts';

export const importLog = defineCommand({
  args: {
    files: words(
      'FILE',
      'the output of "stopgate export", archive files or their folder, oldest first; also .gz; - for stdin',
      true,
    ),
    ...clientArgs,
  },
  details: [
    'Stores the entries of a complete log, from number 1 on, with their numbers. The fleet must not have a log or a running service; start the service afterwards. If the beginning of the log is in the archive, pass both: stopgate import archive/ log.jsonl. Duplicate entries are stored once.',
    'The entries get the time of the import. If that would change a state (a deadline, the usage of a day), the import is refused and nothing is stored. To keep the times, use "nats stream backup" and "nats stream restore".',
    'Needs the credentials of a service.',
  ],
  examples: ['stopgate import log.jsonl --fleet main', 'stopgate import archive/ log.jsonl'],
  run: async ({ flags, io, out }) => {
    const { files: named, nats, creds, fleet: given, config, context } = flags;
    const resolved = await loadConfig({
      flags: { nats, creds, fleet: given, config, http: 'off' },
      cwd: io.cwd,
      env: io.env,
      contexts: { named: context },
    });
    refuseOtherService(resolved);
    const { fleet } = resolved;
    const { openConnection } = await import('../../../nats/connection.ts');
    const { openLogImport } = await import('../../../nats/log/log-import.ts');
    const credsFile = defaultCredentials(resolved, 'service');
    const nc = await openConnection({ url: resolved.nats, credsFile, name: 'stopgate import', patient: false });
    const stdin = named.includes('-') ? await saveStdin(io) : null;
    try {
      const files = named.map((file) => (file === '-' && stdin !== null ? stdin.file : file));
      // Check everything before storing anything.
      const times = createTimeComparison(fleet, Date.now());
      for await (const entries of readEntries(files, fleet, io)) for (const entry of entries) times.add(entry);
      refuseDifferences(times.differences());
      let log: LogImport | null = null;
      let lastSeq = 0;
      for await (const entries of readEntries(files, fleet, io)) {
        log ??= await openLogImport(nc, fleet, createLogger('silent'));
        await log.append(entries);
        lastSeq = entries.at(-1)?.seq ?? lastSeq;
      }
      if (flags.json) await out.json({ fleet, entries: lastSeq });
      else await out.print(`imported ${lastSeq} entries into fleet ${fleet}`);
      return 0;
    } finally {
      await nc.close();
      await stdin?.remove();
    }
  },
});

/** @throws AppError entry.refused */
function refuseDifferences(differences: readonly string[]): void {
  if (differences.length === 0) return;
  const why = 'imported entries get the current time, which would change the state of this log';
  const hint = 'Nothing was stored. To keep the times, use "nats stream backup" and "nats stream restore"';
  throw new AppError('entry.refused', `${why}: ${differences.join('; ')}. ${hint}`);
}

/** Copies stdin to a temporary file, because the import reads the log twice. */
async function saveStdin({ stdin }: Io): Promise<{ readonly file: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'stopgate-import-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  const file = join(folder, 'stdin.jsonl');
  await pipeline(stdin, createWriteStream(file)).catch(async (error: Error) => {
    await remove();
    throw error;
  });
  return { file, remove };
}

type ReadEntry = ImportedEntry & TimedEntry;

/**
 * Reads consecutive entries from 1 on and skips duplicates.
 * @throws AppError input.bad, also if there are no entries
 */
async function* readEntries(names: readonly string[], fleet: string, io: Io): AsyncGenerator<ReadEntry[]> {
  let lastSeq = 0;
  for (const file of (await Promise.all(names.map((name) => findLogFiles(name, io)))).flat()) {
    let number = 0;
    for await (const lines of readLines(file, io)) {
      const entries: ReadEntry[] = [];
      for (const line of lines) {
        number += 1;
        const entry = readLine(line, fleet, `${file}, line ${number}`);
        if (entry === null || entry.seq <= lastSeq) continue;
        if (entry.seq !== lastSeq + 1) throw missingEntry(file, number, lastSeq + 1, entry.seq);
        lastSeq = entry.seq;
        entries.push(entry);
      }
      if (entries.length > 0) yield entries;
    }
  }
  if (lastSeq === 0)
    throw new AppError('input.bad', `no entries in ${names.join(' ')}; pass the output of "stopgate export"`);
}

/** Returns null for an empty line. @throws AppError input.bad */
function readLine(line: string | null, fleet: string, position: string): ReadEntry | null {
  if (line?.trim() === '') return null;
  const parsed = line === null ? 'is too long' : parseLogLine(line);
  if (line === null || typeof parsed === 'string') throw new AppError('input.bad', `${position}: ${parsed}`);
  const { seq, subject, at } = parsed;
  if (seq === null || subject === null)
    throw new AppError(
      'input.bad',
      `${position}: "seq", "subject" or "data" is missing; pass the output of "stopgate export"`,
    );
  const [root, owner = ''] = subject.split('.');
  if (root === 'stopgate' && isId(owner) && owner !== fleet)
    throw new AppError(
      'input.bad',
      `${position}: the entry belongs to fleet '${owner}', and an import keeps the name; add --fleet ${owner}`,
    );
  if (!isLogSubject(subject, fleet))
    throw new AppError('input.bad', `${position}: '${subject}' is not a subject of a log`);
  const payload = payloadOf(parsed, line);
  const bytes = Buffer.byteLength(payload);
  if (bytes > messageBytesMax)
    throw new AppError('input.bad', `${position}: the payload has ${bytes} bytes; the maximum is ${messageBytesMax}`);
  const atMs = typeof at === 'string' ? parseIsoTime(at) : null;
  if (atMs === null) throw new AppError('input.bad', `${position}: "at" is not a time in ISO 8601 (UTC)`);
  return { seq, atMs, subject, payload };
}

const missingEntry = (file: string, line: number, from: number, found: number): AppError =>
  new AppError(
    'input.bad',
    `${file}, line ${line}: expected entry ${from} but found ${found}; the log must be complete, so pass the archive before it`,
  );
