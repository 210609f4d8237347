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
      'the NATS server (STOPGATE_NATS; default: the one of "stopgate dev" in this folder, the selected context, or nats://127.0.0.1:4222)',
    ),
    group,
  },
  creds: {
    ...option('FILE', 'credentials for NATS (STOPGATE_CREDS); those of "stopgate dev" are found automatically'),
    group,
  },
  fleet: { ...option('F', 'the fleet to use (STOPGATE_FLEET; default: main)'), group },
  config: {
    ...option('FILE', 'the configuration file (STOPGATE_CONFIG; default: stopgate.yaml, if it exists)'),
    group,
  },
  context: { ...option('CONTEXT', 'the named context to use (STOPGATE_CONTEXT; see "stopgate context")'), group },
  json: { ...flag('print JSON'), group },
} as const satisfies Arguments;

const { json: _, ...addressArgs } = clientArgs;

export { addressArgs };

/** Options of the commands that act as an agent and have an output of their own. */
export const agentAddressArgs = {
  ...addressArgs,
  creds: option('FILE', 'credentials for NATS (STOPGATE_CREDS); agents need none with "stopgate dev"'),
} as const satisfies Arguments;

/** A paragraph of help for commands that read the log. */
export const readsLog = 'Reading the log needs operator credentials. Those of "stopgate dev" are found automatically.';

const refuse = (message: string): AppError => new AppError('input.bad', message);

/** Parses `250ms`, `10m` or a bare number of milliseconds. Returns milliseconds. */
export function toDuration(text: string): number {
  const ms = /^\d{1,15}$/.test(text) ? Number(text) : parseDuration(text);
  if (ms !== null && ms <= timerMsMax) return ms;
  if (ms !== null) throw refuse(`'${text}' is too long; the maximum is 24d`);
  throw refuse(`'${text}' is not a duration; write 250ms, 50s, 10m, 2h, 7d or a number of milliseconds`);
}

/** Parses a duration of at least 1 ms, such as a timeout or a pause. */
export function toTimeout(text: string): number {
  const ms = toDuration(text);
  if (/^\d+$/.test(text) && ms > 0 && ms < bareMsMin)
    throw refuse(`'${text}' would be ${ms} ms; write ${ms}s for seconds, or ${ms}ms`);
  if (ms > 0) return ms;
  throw refuse(`'${text}' leaves no time; write 5s, for example`);
}

/** No timeout is that short: a bare number below this is meant as seconds. */
const bareMsMin = 100;

export const timeoutMsDefault = 5_000;
/** Timeout of a decision: checks may be slow, and the decision may be held. */
export const decisionTimeoutMs = 600_000;

export const timeoutArg = {
  timeout: {
    ...option(
      'DURATION',
      'how long to wait for an answer: 5s, 500ms, 10m; a bare number is milliseconds (default: 5s)',
      toTimeout,
    ),
    group,
  },
} as const satisfies Arguments;

export const timeForms = '2026-03-02T12:00:00.000Z, 2026-03-02 (midnight UTC), or how long ago: 90m or 2d';

/** Parses a time into milliseconds since 1970. A bare date means midnight UTC. */
export function toTime(text: string): number {
  const agoMs = parseDuration(text);
  const atMs =
    agoMs === null ? parseIsoTime(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text) : Date.now() - agoMs;
  if (atMs !== null && atMs >= 0) return atMs;
  const why = atMs === null ? 'not a time' : 'before 1970, earlier than any entry';
  throw refuse(`'${text}' is ${why}: write ${timeForms}`);
}

/** Parses a whole number from `min` to `max`. */
export const countFrom =
  (min: number, max: number): Parse<number> =>
  (text) => {
    const count = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (count >= min && count <= max) return count;
    throw refuse(`'${text}' is not a whole number from ${min} to ${max}`);
  };

/**
 * @param what the kind of actor, for the error. @throws AppError input.bad if `text` is not a single token of a subject
 */
export function readId(what: string, text: string): string {
  if (isId(text)) return text;
  throw refuse(
    `'${text}' is not the id of a ${what}: use letters, digits, _ and -, start with a letter or digit, 128 characters at most`,
  );
}

export const idOf =
  (what: string): Parse<string> =>
  (text) =>
    readId(what, text);
