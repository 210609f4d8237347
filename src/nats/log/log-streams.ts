/**
 * Opens the two streams of a fleet: `STOPGATE_<fleet>`, its log, and `STOPGATE-DEAD_<fleet>` for refused entries
 * (protocol.md §2). The description of the dead-letter stream identifies the log (log-note.ts), so a start notices that
 * the log was lost or replaced. A lost log is recreated only with `acceptEmptyLog`.
 */
import {
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { isId, logHeads } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import { defaultReplicas } from '../server-version.ts';
import { lost } from './log-continuity.ts';
import { type AcceptedGaps, formatLogNote, nothingNoted, parseLogNote } from './log-note.ts';
import { recogniseLog, warnOfLoss } from './recognise-log.ts';
import {
  deadLimits,
  deadName,
  infoOf,
  isOutOfSpace,
  isUnclustered,
  isWithoutPeers,
  logName,
  logPrefix,
  messageBytesMax,
} from './stream-info.ts';

export type LogStreamOptions = {
  readonly nc: NatsConnection;
  readonly fleet: string;
  /** Replicas of each new stream. Null chooses three in a cluster with enough nodes, otherwise one. */
  readonly replicas: number | null;
  /** Continue with the log as it is, even if entries are gone. */
  readonly acceptEmptyLog: boolean;
  /**
   * Whether a marker outside JetStream says that there was a log: do not create one if both streams are gone.
   * Undefined: nothing could say so.
   */
  readonly hadLog?: boolean | undefined;
  /** Whether the fold starts from a snapshot. Called only with `acceptEmptyLog`. */
  readonly hasStart: () => Promise<boolean>;
  readonly log: Logger;
};

export type OpenedLog = {
  readonly info: StreamInfo;
  readonly accepted: AcceptedGaps;
  /** Whether the note contains entries by which a later start can recognise the log. */
  readonly isNoted: boolean;
};

/** Finds or creates both streams. @throws AppError log.lost, stream.foreign, log.unavailable */
export async function openLogStreams(manager: JetStreamManager, options: LogStreamOptions): Promise<OpenedLog> {
  const { fleet, acceptEmptyLog, hadLog, hasStart, log } = options;
  await refuseRequestCaptures(manager, fleet);
  const wanted = logConfig(fleet);
  const dead = await infoOf(manager, deadName(fleet));
  let info = await infoOf(manager, wanted.name);
  if (info === null) {
    const isLost = dead !== null || hadLog === true;
    if (isLost && !acceptEmptyLog) throw lost(`the log ${wanted.name} existed before and is gone`);
    info = await create(manager, wanted, options);
    const why = isLost
      ? 'its loss was accepted'
      : hadLog === false
        ? 'first start of this fleet'
        : 'first start of this fleet, or its store was lost';
    log.info({ stream: wanted.name, replicas: info.config.num_replicas }, `created an empty log: ${why}`);
  }
  refuseForeign(info.config, wanted);
  const copies = info.config.num_replicas;
  if (options.replicas !== null && options.replicas !== copies)
    log.warn(
      { stream: wanted.name, replicas: copies },
      `the log exists and has ${copies} ${copies === 1 ? 'copy' : 'copies'}; --replicas ${options.replicas} changes only a new one: nats stream edit ${wanted.name} --replicas ${options.replicas}`,
    );
  const note = parseLogNote(dead?.config.description ?? '');
  const found = await recogniseLog(manager, wanted.name, note);
  if (found === 'other' && !acceptEmptyLog)
    throw lost(`the log ${wanted.name}, created at ${info.created}, has none of the entries that were folded`);
  if (found === 'wentBack') warnOfLoss(info, note, log);
  const known = found === 'other' ? nothingNoted : note;
  const accepted = acceptEmptyLog ? accept(info, known.accepted, await hasStart()) : known.accepted;
  const noted = { begun: known.begun, accepted, folded: found === 'same' ? note.folded : null };
  const description = formatLogNote(fleet, noted);
  if (dead === null) {
    const { num_replicas } = info.config;
    await add(manager, { ...deadConfig(wanted, fleet), description, num_replicas });
  } else if (dead.config.description !== description) {
    await manager.streams.update(deadName(fleet), { ...dead.config, description });
  }
  return { info, accepted, isNoted: noted.folded !== null };
}

/** @throws AppError stream.foreign, log.unavailable */
async function create(manager: JetStreamManager, wanted: NamedConfig, options: LogStreamOptions): Promise<StreamInfo> {
  const { nc, replicas, log } = options;
  const copies = replicas ?? defaultReplicas(nc);
  try {
    return await add(manager, { ...wanted, num_replicas: copies });
  } catch (error) {
    const { cause } = error as AppError;
    if (replicas !== null || copies === 1 || !(isWithoutPeers(cause) || isUnclustered(cause))) throw error;
    if (isWithoutPeers(cause))
      log.warn(
        { stream: wanted.name },
        'this cluster has fewer than three nodes for the log, so only one node stores it',
      );
    return add(manager, { ...wanted, num_replicas: 1 });
  }
}

/**
 * Accepts the current gaps. A missing beginning is accepted only if there is no snapshot. Otherwise a later loss of the
 * snapshot would go unnoticed.
 */
function accept({ state }: StreamInfo, known: AcceptedGaps, hasStart: boolean): AcceptedGaps {
  return { toSeq: state.last_seq, beginSeq: hasStart ? known.beginSeq : Math.max(known.beginSeq, state.first_seq) };
}

/**
 * Returns the sequence of the last entry that has a dead letter, or 0. Dead letters are published in log order, so the
 * newest one names it.
 */
export async function lastDeadSeq(manager: JetStreamManager, fleet: string): Promise<number> {
  const info = await infoOf(manager, deadName(fleet));
  if (info === null || info.state.last_seq === 0) return 0;
  const last = await manager.streams.getMessage(deadName(fleet), { seq: info.state.last_seq }).catch(() => null);
  const seq = last?.json<{ seq?: unknown }>()?.seq;
  return typeof seq === 'number' ? seq : 0;
}

type NamedConfig = Partial<StreamConfig> & { readonly name: string };

const logConfig = (fleet: string): NamedConfig => ({
  name: logName(fleet),
  description: `stopgate: the log of fleet ${fleet}`,
  subjects: logHeads.map((head) => `stopgate.${fleet}.${head}.>`),
  storage: 'file',
  retention: 'limits',
  discard: 'new',
  deny_delete: true,
  // Retention purges the entries that snapshots cover.
  deny_purge: false,
  allow_rollup_hdrs: false,
  max_age: 0,
  max_bytes: -1,
  max_msgs: -1,
  max_msg_size: messageBytesMax,
  max_msgs_per_subject: -1,
  duplicate_window: 120_000_000_000,
});

const deadConfig = (log: NamedConfig, fleet: string): NamedConfig => ({
  ...log,
  ...deadLimits,
  deny_purge: true,
  name: deadName(fleet),
  subjects: [`stopgate.${fleet}.dead.>`],
});

async function add(manager: JetStreamManager, config: NamedConfig): Promise<StreamInfo> {
  try {
    // The library mutates its argument.
    return await manager.streams.add({ ...config });
  } catch (cause) {
    const code = cause instanceof JetStreamApiError && cause.status < 500 ? 'stream.foreign' : 'log.unavailable';
    const message = (cause as Error).message;
    const hint = isOutOfSpace(cause)
      ? '; the disk of the NATS server is full, or its max_file_store is reached: free some space there, or raise the limit'
      : message.includes('creating store')
        ? '; the NATS server cannot write its store: look at the free space and the owner of its store_dir'
        : '';
    throw new AppError(code, `the stream ${config.name} cannot be created: ${message}${hint}`, {
      cause,
    });
  }
}

/** A stream that captures requests would acknowledge them, and clients would take that for the reply. */
async function refuseRequestCaptures(manager: JetStreamManager, fleet: string): Promise<void> {
  for (const verb of [
    'decide',
    'probe',
    'verify',
    'verify-task',
    'claim-next',
    'evaluate',
    'get',
    'list',
    'check',
    'run',
  ]) {
    const subject = `stopgate.${fleet}.${verb}.>`;
    for await (const name of manager.streams.names(subject)) {
      const message = `the stream ${name} captures requests (${subject}); remove that subject from it`;
      throw new AppError('stream.foreign', message);
    }
  }
}

function refuseForeign(found: StreamConfig, wanted: NamedConfig): void {
  const differences = differencesOf(found, wanted);
  if (differences.length === 0) return;
  const hint = 'move that stream away, or choose another fleet with --fleet';
  const message = `the stream ${wanted.name} exists with other settings (${differences.join('; ')}); ${hint}`;
  throw new AppError('stream.foreign', message);
}

function differencesOf(found: StreamConfig, wanted: NamedConfig): string[] {
  return (Object.keys(wanted) as (keyof StreamConfig)[])
    .filter((key) => key !== 'description')
    .filter((key) => JSON.stringify(sorted(found[key] ?? defaultOf(key))) !== JSON.stringify(sorted(wanted[key])))
    .map((key) => `${key} is ${JSON.stringify(found[key] ?? defaultOf(key))}, not ${JSON.stringify(wanted[key])}`)
    .concat(
      found.mirror ? ['it is a mirror'] : [],
      found.sources?.length ? ['it has sources'] : [],
      found.sealed ? ['it is sealed'] : [],
    );
}

const sorted = (value: unknown) => (Array.isArray(value) ? [...value].sort() : value);
/** The value of a setting that the server omits. */
const defaultOf = (key: keyof StreamConfig) =>
  key.startsWith('deny') || key.startsWith('allow') ? false : key === 'max_age' ? 0 : -1;

/** Lists the fleets that have a log on this server, sorted. @throws AppError log.unavailable */
export async function findFleets(nc: NatsConnection): Promise<string[]> {
  const found: string[] = [];
  try {
    const manager = await jetstreamManager(nc, { checkAPI: false });
    for await (const name of manager.streams.names())
      if (name.startsWith(logPrefix)) found.push(name.slice(logPrefix.length));
  } catch (cause) {
    throw new AppError('log.unavailable', `the streams cannot be listed: ${(cause as Error).message}`, { cause });
  }
  return found.filter(isId).sort();
}
