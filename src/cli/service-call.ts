/** How a command reaches the service: which server, whose fleet, with which credentials, and for how long. */
import { durationSchema, isId } from '../../machines/index.ts';
import { loadConfig, refuseOtherService } from '../config/config.ts';
import { defaultCredentials } from '../config/store.ts';
import { AppError } from '../errors.ts';
import { privateInbox } from '../nats/permissions.ts';
import { openRequester, type Requester } from '../nats/requester.ts';
import type { Io } from '../process-io.ts';

type Place = {
  readonly nats: string | undefined;
  readonly creds: string | undefined;
  readonly fleet: string | undefined;
  readonly config: string | undefined;
};

/**
 * Where a requester would go: with the credentials that were named, else the operator's, where there are any, or as an
 * agent. @throws AppError config.bad
 */
export async function readPlace(
  { nats, creds, fleet, config }: Place,
  { cwd, env }: Io,
  as: 'operator' | 'agent' = 'operator',
) {
  // HTTP is nothing to these commands, so what a variable says of it cannot be wrong here.
  const resolved = await loadConfig({ flags: { nats, creds, fleet, config, http: 'off' }, cwd, env });
  refuseOtherService(resolved);
  const credsFile = as === 'agent' ? (resolved.creds ?? undefined) : defaultCredentials(resolved, 'operator');
  // Found by ourselves they are the operator's, whose answers nobody else shall hear; named ones may be anybody's.
  const inboxPrefix = credsFile !== undefined && resolved.creds === null ? privateInbox : undefined;
  return { url: resolved.nats, credsFile, inboxPrefix, fleet: resolved.fleet, name: 'stopgate cli' };
}

/** Connects, does `use`, and closes whatever became of it. @throws AppError service.unreachable and those of `use` */
export async function withRequester<Result>(
  place: Place,
  io: Io,
  use: (requester: Requester, fleet: string) => Promise<Result>,
): Promise<Result> {
  const options = await readPlace(place, io);
  const requester = await openRequester(options);
  try {
    return await use(requester, options.fleet);
  } finally {
    await requester.close();
  }
}

/** The longest wait of a timer. */
const timeoutMsMax = 2_147_483_647;

/** `500`, `250ms`, `10m`. @throws AppError input.bad */
export function readDuration(option: string, text: string): number {
  const parsed = durationSchema.safeParse(/^\d{1,15}$/.test(text) ? Number(text) : text);
  if (parsed.success && parsed.data <= timeoutMsMax) return parsed.data;
  throw new AppError(
    'input.bad',
    `${option} '${text}' is no duration: write 250ms, 50s, 10m, 2h or a number of milliseconds`,
  );
}

const defaultTimeoutMs = 5_000;

/** Undefined is the default; at least 1. @throws AppError input.bad */
export const readTimeout = (text: string | undefined, defaultMs = defaultTimeoutMs): number =>
  text === undefined ? defaultMs : Math.max(1, readDuration('--timeout', text));

/** How many entries a timeline has. @throws AppError input.bad */
export const readEntriesArg = (text: string | undefined): number =>
  text === undefined ? 20 : readCount('--entries', text, 0, 10_000);

/** A whole number from `min` to `max`. @throws AppError input.bad */
export function readCount(option: string, text: string, min: number, max: number): number {
  const count = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (count >= min && count <= max) return count;
  throw new AppError('input.bad', `${option} '${text}' is no whole number from ${min} to ${max}`);
}

/** One token of a subject, so that no name reaches further than it should. @throws AppError input.bad */
export function readId(what: string, text: string): string {
  if (isId(text)) return text;
  throw new AppError(
    'input.bad',
    `'${text}' is no id of a ${what}: letters, digits, _ and -, a letter or digit first, 128 at most`,
  );
}
