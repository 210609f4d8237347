/** import: restores the log of a fleet that has none, from what export and the archive have written. */
import { isLogSubject, parseLogLine, payloadOf } from '../../../../machines/index.ts';
import { isId } from '../../../../machines/values/id.ts';
import { loadConfig, refuseOtherService } from '../../../config/config.ts';
import { defaultCredentials } from '../../../config/store.ts';
import { AppError } from '../../../errors.ts';
import { createLogger } from '../../../log.ts';
import type { ImportedEntry, LogImport } from '../../../nats/log/log-import.ts';
import { messageBytesMax } from '../../../nats/log/stream-info.ts';
import type { Io } from '../../../terminal/process-io.ts';
import { argument, defineCommand } from '../../command.ts';
import { findLogFiles, readLines } from '../../input.ts';
import { clientArgs } from '../../option-values.ts';

export const importLog = defineCommand({
  args: {
    file: argument(
      'FILE…',
      'what "stopgate export" printed, or archive files or their folder, oldest first; .gz too; -: stdin',
    ),
    ...clientArgs,
  },
  rest: true,
  details: [
    'Stores the entries of a complete log, from number 1 on, each under its own number. The fleet must not have a log or a running service yet; start the service afterwards. If the beginning of the log is in the archive, pass both: stopgate import archive/ log.jsonl. Entries that appear twice are stored once.',
    'The entries get the time of the import. To keep their times, use "nats stream backup" instead.',
    'It needs the credentials of a service.',
  ],
  examples: ['stopgate import log.jsonl --fleet main', 'stopgate import archive/ log.jsonl'],
  run: async ({ flags, words, io, out }) => {
    const { nats, creds, fleet: given, config } = flags;
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
    try {
      // All of it is checked before any of it is stored; what comes from stdin comes only once.
      if (!words.includes('-')) for await (const _ of readEntries(words, fleet, io));
      let log: LogImport | null = null;
      let lastSeq = 0;
      try {
        for await (const entries of readEntries(words, fleet, io)) {
          log ??= await openLogImport(nc, fleet, createLogger('silent'));
          await log.append(entries);
          lastSeq = entries.at(-1)?.seq ?? lastSeq;
        }
      } catch (error) {
        throw lastSeq > 0 && error instanceof AppError && error.code === 'input.bad'
          ? storedInPart(error, fleet, lastSeq)
          : error;
      }
      if (flags.json) await out.json({ fleet, entries: lastSeq });
      else await out.print(`imported ${lastSeq} entries into fleet ${fleet}`);
      return 0;
    } finally {
      await nc.close();
    }
  },
});

const storedInPart = (cause: AppError, fleet: string, lastSeq: number): AppError =>
  new AppError(
    'input.bad',
    `${cause.message}; entries 1 to ${lastSeq} are stored: delete the streams of fleet '${fleet}' before you try again`,
    { cause },
  );

/**
 * Reads entries that follow each other from 1 on; an entry that is there twice comes once. @throws AppError input.bad,
 * also of no entry at all
 */
async function* readEntries(names: readonly string[], fleet: string, io: Io): AsyncGenerator<ImportedEntry[]> {
  let lastSeq = 0;
  for (const file of (await Promise.all(names.map((name) => findLogFiles(name, io)))).flat()) {
    let number = 0;
    for await (const lines of readLines(file, io)) {
      const entries: ImportedEntry[] = [];
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
function readLine(line: string | null, fleet: string, place: string): ImportedEntry | null {
  if (line?.trim() === '') return null;
  const parsed = line === null ? 'is too long' : parseLogLine(line);
  if (line === null || typeof parsed === 'string') throw new AppError('input.bad', `${place}: ${parsed}`);
  const { seq, subject } = parsed;
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
  return { seq, subject, payload };
}

const lacking = (file: string, line: number, from: number, found: number): AppError =>
  new AppError(
    'input.bad',
    `${file}, line ${line}: entry ${from} is missing, the next is ${found}; the log must be complete, so put the archive before it`,
  );
