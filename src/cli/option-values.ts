/**
 * Options that several commands share, and how values are read. A value that makes no sense is refused by the name of its
 * option.
 */
import { isId } from '../../machines/values/id.ts';
import { parseDuration, parseIsoTime } from '../../machines/values/time.ts';
import { AppError } from '../errors.ts';
import { timerMsMax } from '../timer.ts';
import { type Arguments, flag, option } from './command.ts';

/** Options of the commands that are clients of a service. */
export const clientArgs = {
  nats: option(
    'URL',
    'the NATS server (STOPGATE_NATS; default: the one of "stopgate dev" in this folder, else nats://127.0.0.1:4222)',
  ),
  creds: option('FILE', 'credentials for NATS (STOPGATE_CREDS); those of "stopgate dev" are found automatically'),
  fleet: option('F', 'the fleet of the workers and tasks (STOPGATE_FLEET; default: main)'),
  config: option('FILE', 'a file with more options (STOPGATE_CONFIG; default: stopgate.yaml, if it exists)'),
  json: flag('print JSON, for programs'),
} as const satisfies Arguments;

const { json: _, ...placeArgs } = clientArgs;
/** For those that act as an agent, with an output of their own. */
export const agentPlaceArgs = {
  ...placeArgs,
  creds: option('FILE', 'credentials for NATS (STOPGATE_CREDS); agents need none with "stopgate dev"'),
} as const satisfies Arguments;

/** For the details of commands that read the log. */
export const readsLog = 'Reading the log needs operator credentials. Those of "stopgate dev" are found automatically.';

export const timeoutArg = {
  timeout: option('DURATION', 'how long to wait for an answer: 500ms, 5s, 10m (default: 5s)'),
} as const satisfies Arguments;

/** `500`, `250ms`, `10m`. @throws AppError input.bad */
export function readDuration(option: string, text: string): number {
  const ms = /^\d{1,15}$/.test(text) ? Number(text) : parseDuration(text);
  if (ms !== null && ms <= timerMsMax) return ms;
  if (ms !== null) throw new AppError('input.bad', `${option} '${text}' is too long: 24d at most`);
  throw new AppError(
    'input.bad',
    `${option} '${text}' is not a duration: write 250ms, 50s, 10m, 2h, 7d or a number of milliseconds`,
  );
}

const defaultTimeoutMs = 5_000;

/** Undefined is the default; 1 at least. @throws AppError input.bad */
export function readTimeout(text: string | undefined, defaultMs = defaultTimeoutMs): number {
  const ms = text === undefined ? defaultMs : readDuration('--timeout', text);
  if (ms > 0) return ms;
  throw new AppError('input.bad', `--timeout '${text}' leaves no time for an answer`);
}

export const timeForms = '2026-03-02T12:00:00.000Z, 2026-03-02 (midnight UTC), or how long ago: 90m or 2d';

/** Milliseconds since 1970, 0 at least; undefined stays. A date begins at midnight UTC. @throws AppError input.bad */
export function readTime(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const agoMs = parseDuration(text);
  const atMs =
    agoMs === null ? parseIsoTime(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text) : Date.now() - agoMs;
  if (atMs !== null && atMs >= 0) return atMs;
  const why = atMs === null ? 'not a time' : 'before 1970, earlier than any entry';
  throw new AppError('input.bad', `${option} '${text}' is ${why}: write ${timeForms}`);
}

/** A whole number from `min` to `max`. @throws AppError input.bad */
export function readCount(option: string, text: string, min: number, max: number): number {
  const count = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (count >= min && count <= max) return count;
  throw new AppError('input.bad', `${option} '${text}' is not a whole number from ${min} to ${max}`);
}

/** One token of a subject, so that no name reaches further than it should. @throws AppError input.bad */
export function readId(what: string, text: string): string {
  if (isId(text)) return text;
  throw new AppError(
    'input.bad',
    `'${text}' is not the id of a ${what}: letters, digits, _ and -, starting with a letter or digit, 128 characters at most`,
  );
}
