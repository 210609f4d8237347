/** import: restores the log of a fleet that has none, from what export and the archive have written. */
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
      'what "stopgate export" printed, or archive files or their folder, oldest first; .gz too; -: stdin',
      true,
    ),
    ...clientArgs,
  },
  details: [
    'Stores the entries of a complete log, from number 1 on, each under its own number. The fleet must not have a log or a running service yet; start the service afterwards. If the beginning of the log is in the archive, pass both: stopgate import archive/ log.jsonl. Entries that appear twice are stored once.',
    'The entries get the time of the import. If that would change what the log says (a deadline, what was used on a day), it is refused, and nothing is stored: "nats stream backup" and "restore" keep the times.',
    'It needs the credentials of a service.',
  ],
  examples: ['stopgate import log.jsonl --fleet main', 'stopgate import archive/ log.jsonl'],
  run: async ({ flags, io, out }) => {
    const { files: named, nats, creds, fleet: given, config } = flags;
    const place = await loadConfig({
      flags: { nats, creds, fleet: given, config, http: 'off' },
      cwd: io.cwd,
      env: io.env,
    });
    refuseOtherService(place);
    const { fleet } = place;
    const { openConnection } = await import('../../../nats/connection.ts');
    const { openLogImport } = await import('../../../nats/log/log-import.ts');
    const credsFile = defaultCredentials(place, 'service');
    const nc = await openConnection({ url: place.nats, credsFile, name: 'stopgate import', patient: false });
    const stdin = named.includes('-') ? await keepStdin(io) : null;
    try {
      const files = named.map((file) => (file === '-' && stdin !== null ? stdin.file : file));
      // All of it is checked before any of it is stored.
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
  const why = 'entries get the time of the import, and with that time this log would say something else';
  const hint = 'Nothing was stored. To keep the times, use "nats stream backup" and "nats stream restore"';
  throw new AppError('entry.refused', `${why}: ${differences.join('; ')}. ${hint}`);
}

/** Keeps stdin in a file for as long as the import takes: the log is read twice. */
async function keepStdin({ stdin }: Io): Promise<{ readonly file: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'stopgate-import-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  const file = join(folder, 'stdin.jsonl');
  await pipeline(stdin, createWriteStream(file)).catch(async (error: Error) => {
    await remove();
    throw error;
  });
  return { file, remove };
}

type Read = ImportedEntry & TimedEntry;

/**
 * Reads entries that follow each other from 1 on; an entry that is there twice comes once. @throws AppError input.bad,
 * also of no entry at all
 */
async function* readEntries(names: readonly string[], fleet: string, io: Io): AsyncGenerator<Read[]> {
  let lastSeq = 0;
  for (const file of (await Promise.all(names.map((name) => findLogFiles(name, io)))).flat()) {
    let number = 0;
    for await (const lines of readLines(file, io)) {
      const entries: Read[] = [];
      for (const line of lines) {
        number += 1;
        const entry = readLine(line, fleet, `${file}, line ${number}`);
        if (entry === null || entry.seq <= lastSeq) continue;
        if (entry.seq !== lastSeq + 1) throw lacking(file, number, lastSeq + 1, entry.seq);
        lastSeq = entry.seq;
        entries.push(entry);
      }
      if (entries.length > 0) yield entries;
    }
  }
  if (lastSeq === 0) throw new AppError('input.bad', `no entries in ${names.join(' ')}`);
}

/** Returns null for an empty line. @throws AppError input.bad */
function readLine(line: string | null, fleet: string, place: string): Read | null {
  if (line?.trim() === '') return null;
  const parsed = line === null ? 'is too long' : parseLogLine(line);
  if (line === null || typeof parsed === 'string') throw new AppError('input.bad', `${place}: ${parsed}`);
  const { seq, subject, at } = parsed;
  if (seq === null || subject === null)
    throw new AppError(
      'input.bad',
      `${place}: "seq", "subject" and "data" of an entry, as "stopgate export" prints it, are missing`,
    );
  const [root, of = ''] = subject.split('.');
  if (root === 'stopgate' && isId(of) && of !== fleet)
    throw new AppError(
      'input.bad',
      `${place}: the entry is of fleet '${of}', and a fleet keeps its name: import it with --fleet ${of}`,
    );
  if (!isLogSubject(subject, fleet)) throw new AppError('input.bad', `${place}: '${subject}' is no subject of a log`);
  const payload = payloadOf(parsed, line);
  const bytes = Buffer.byteLength(payload);
  if (bytes > messageBytesMax)
    throw new AppError('input.bad', `${place}: the payload has ${bytes} bytes; a log takes ${messageBytesMax}`);
  const atMs = typeof at === 'string' ? parseIsoTime(at) : null;
  if (atMs === null) throw new AppError('input.bad', `${place}: "at" is not a time in ISO 8601 (UTC)`);
  return { seq, atMs, subject, payload };
}

const lacking = (file: string, line: number, from: number, found: number): AppError =>
  new AppError(
    'input.bad',
    `${file}, line ${line}: entry ${from} is missing, the next is ${found}; the log must be complete, so put the archive before it`,
  );
