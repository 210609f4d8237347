/** Options that several commands share, and the parsers of their values. */
import { isId } from '../../machines/values/id.ts';
import { parseDuration, parseIsoTime } from '../../machines/values/time.ts';
import { AppError } from '../errors.ts';
import { timerMsMax } from '../timer.ts';
import { type Arguments, flag, option, type Parse } from './command.ts';

const group = 'Connection and output:';

/** Options of the commands that are clients of a service. */
export const clientArgs = {
  nats: {
    ...option(
      'URL',
      'the NATS server (STOPGATE_NATS; default: the one of "stopgate dev" in this folder, else nats://127.0.0.1:4222)',
    ),
    group,
  },
  creds: {
    ...option('FILE', 'credentials for NATS (STOPGATE_CREDS); those of "stopgate dev" are found automatically'),
    group,
  },
  fleet: { ...option('F', 'the fleet of the workers and tasks (STOPGATE_FLEET; default: main)'), group },
  config: {
    ...option('FILE', 'a file with more options (STOPGATE_CONFIG; default: stopgate.yaml, if it exists)'),
    group,
  },
  json: { ...flag('print JSON, for programs'), group },
} as const satisfies Arguments;

const { json: _, ...placeArgs } = clientArgs;

export { placeArgs };

/** For those that act as an agent, with an output of their own. */
export const agentPlaceArgs = {
  ...placeArgs,
  creds: option('FILE', 'credentials for NATS (STOPGATE_CREDS); agents need none with "stopgate dev"'),
} as const satisfies Arguments;

/** For the details of commands that read the log. */
export const readsLog = 'Reading the log needs operator credentials. Those of "stopgate dev" are found automatically.';

const refuse = (message: string): AppError => new AppError('input.bad', message);

/** `500`, `250ms`, `10m`: milliseconds. */
export function toDuration(text: string): number {
  const ms = /^\d{1,15}$/.test(text) ? Number(text) : parseDuration(text);
  if (ms !== null && ms <= timerMsMax) return ms;
  if (ms !== null) throw refuse(`'${text}' is too long: 24d at most`);
  throw refuse(`'${text}' is not a duration: write 250ms, 50s, 10m, 2h, 7d or a number of milliseconds`);
}

/** A duration of at least 1 ms. */
export function toTimeout(text: string): number {
  const ms = toDuration(text);
  if (ms > 0) return ms;
  throw refuse(`'${text}' leaves no time for an answer`);
}

export const timeoutMsDefault = 5_000;
export const timeoutArg = {
  timeout: { ...option('DURATION', 'how long to wait for an answer: 500ms, 5s, 10m (default: 5s)', toTimeout), group },
} as const satisfies Arguments;

export const timeForms = '2026-03-02T12:00:00.000Z, 2026-03-02 (midnight UTC), or how long ago: 90m or 2d';

/** Milliseconds since 1970. A date begins at midnight UTC. */
export function toTime(text: string): number {
  const agoMs = parseDuration(text);
  const atMs =
    agoMs === null ? parseIsoTime(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text) : Date.now() - agoMs;
  if (atMs !== null && atMs >= 0) return atMs;
  const why = atMs === null ? 'not a time' : 'before 1970, earlier than any entry';
  throw refuse(`'${text}' is ${why}: write ${timeForms}`);
}

/** A whole number from `min` to `max`. */
export const countFrom =
  (min: number, max: number): Parse<number> =>
  (text) => {
    const count = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (count >= min && count <= max) return count;
    throw refuse(`'${text}' is not a whole number from ${min} to ${max}`);
  };

/** One token of a subject: no id may reach further than it should. @throws AppError input.bad */
export function readId(what: string, text: string): string {
  if (isId(text)) return text;
  throw refuse(
    `'${text}' is not the id of a ${what}: letters, digits, _ and -, starting with a letter or digit, 128 characters at most`,
  );
}

export const idOf =
  (what: string): Parse<string> =>
  (text) =>
    readId(what, text);
