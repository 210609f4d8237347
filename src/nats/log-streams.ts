/**
 * The two streams of a fleet: `STOPGATE_<fleet>`, its log, and `STOPGATE-DEAD_<fleet>` for what was refused
 * (protocol.md §2). The dead stream remembers which log it belongs to, so a start notices a log that was lost or
 * replaced. Nothing here ever creates a lost log again without being told to.
 */
import {
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { isId } from '../../machines/values/id.ts';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { isStreamNotFound } from './stream-error.ts';
import { deadLimits, hasDeadLimits, limitMessages, messageBytesMax } from './stream-limits.ts';

export type LogStreamOptions = {
  readonly fleet: string;
  /** Of the streams, in a cluster. */
  readonly replicas: number;
  /** Go on with an empty log where there had been one. */
  readonly acceptEmptyLog: boolean;
  readonly log: Logger;
};

/** Finds both streams, or creates them. @returns the log @throws AppError log.lost, stream.foreign, log.unavailable */
export async function openLogStreams(
  manager: JetStreamManager,
  { fleet, replicas, acceptEmptyLog, log }: LogStreamOptions,
): Promise<StreamInfo> {
  await refuseEavesdroppers(manager, fleet);
  const wanted = logConfig(fleet, replicas);
  const dead = await infoOf(manager, deadName(fleet));
  let info = await infoOf(manager, wanted.name);
  if (info === null) {
    if (dead !== null && !acceptEmptyLog) throw lost(`the log ${wanted.name} is gone, though there was one`);
    info = await add(manager, wanted);
    log.info({ stream: wanted.name }, 'log created');
  }
  info = await limitMessages(manager, info, log);
  refuseForeign(info.config, wanted);
  const note = deadNote(fleet, info.created);
  if (dead === null) {
    await add(manager, { ...deadConfig(wanted, fleet), description: note });
  } else if (dead.config.description !== note || !hasDeadLimits(dead.config)) {
    if (dead.config.description !== note && !acceptEmptyLog)
      throw lost(`the log ${wanted.name} was created again at ${info.created}`);
    await manager.streams.update(deadName(fleet), { ...dead.config, ...deadLimits, description: note });
  }
  return info;
}

/** The log as it is now, or why it is no longer ours. `created`: when it was, as the server told at the opening. */
export async function inspectLog(
  manager: JetStreamManager,
  stream: string,
  created: string,
): Promise<StreamInfo | AppError> {
  try {
    const info = await manager.streams.info(stream);
    if (info.created === created) return info;
    return lost(`the log ${stream} was created again at ${info.created}`);
  } catch (cause) {
    if (isStreamNotFound(cause)) return lost(`the log ${stream} is gone`);
    return new AppError('log.unavailable', `the log ${stream} does not answer: ${(cause as Error).message}`, { cause });
  }
}

/** The last entry that has its dead letter: they are published in the log's order, so the newest one tells. 0: none. */
export async function lastDeadSeq(manager: JetStreamManager, fleet: string): Promise<number> {
  const info = await infoOf(manager, deadName(fleet));
  if (info === null || info.state.last_seq === 0) return 0;
  const last = await manager.streams.getMessage(deadName(fleet), { seq: info.state.last_seq }).catch(() => null);
  const seq = last?.json<{ seq?: unknown }>()?.seq;
  return typeof seq === 'number' ? seq : 0;
}

const lost = (what: string) =>
  new AppError('log.lost', `${what}; nothing is decided without it. Restore it, or restart with --accept-empty-log`);

type NamedConfig = Partial<StreamConfig> & { readonly name: string };

const logPrefix = 'STOPGATE_';

const logConfig = (fleet: string, replicas: number): NamedConfig => ({
  name: `${logPrefix}${fleet}`,
  description: `stopgate: the log of fleet ${fleet}`,
  subjects: ['worker', 'task', 'queue', 'own', 'decision'].map((head) => `stopgate.${fleet}.${head}.>`),
  storage: 'file',
  retention: 'limits',
  discard: 'new',
  deny_delete: true,
  deny_purge: true,
  allow_rollup_hdrs: false,
  max_age: 0,
  max_bytes: -1,
  max_msgs: -1,
  max_msg_size: messageBytesMax,
  max_msgs_per_subject: -1,
  duplicate_window: 120_000_000_000,
  num_replicas: replicas,
});

const deadConfig = (log: NamedConfig, fleet: string): NamedConfig => ({
  ...log,
  ...deadLimits,
  name: deadName(fleet),
  subjects: [`stopgate.${fleet}.dead.>`],
});

const deadName = (fleet: string) => `STOPGATE-DEAD_${fleet}`;
const deadNote = (fleet: string, created: string) =>
  `stopgate: refused entries of fleet ${fleet}; its log was created at ${created}`;

async function infoOf(manager: JetStreamManager, stream: string): Promise<StreamInfo | null> {
  try {
    return await manager.streams.info(stream);
  } catch (cause) {
    if (isStreamNotFound(cause)) return null;
    const message = `the stream ${stream} does not answer: ${(cause as Error).message}`;
    throw new AppError('log.unavailable', message, { cause });
  }
}

async function add(manager: JetStreamManager, config: NamedConfig): Promise<StreamInfo> {
  try {
    // The library fills in the object that it is given.
    return await manager.streams.add({ ...config });
  } catch (cause) {
    const code = cause instanceof JetStreamApiError && cause.status < 500 ? 'stream.foreign' : 'log.unavailable';
    throw new AppError(code, `the stream ${config.name} cannot be created: ${(cause as Error).message}`, { cause });
  }
}

/** A stream that captures requests would answer them in our place. */
async function refuseEavesdroppers(manager: JetStreamManager, fleet: string): Promise<void> {
  for (const verb of ['decide', 'probe', 'verify', 'evaluate', 'get', 'list', 'check', 'run']) {
    const subject = `stopgate.${fleet}.${verb}.>`;
    for await (const name of manager.streams.names(subject)) {
      const message = `the stream ${name} captures requests (${subject}); take that subject out of it`;
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
    .filter((key) => key !== 'description' && key !== 'num_replicas')
    .filter((key) => JSON.stringify(sorted(found[key] ?? defaultOf(key))) !== JSON.stringify(sorted(wanted[key])))
    .map((key) => `${key} is ${JSON.stringify(found[key] ?? defaultOf(key))}, not ${JSON.stringify(wanted[key])}`)
    .concat(
      found.mirror ? ['it is a mirror'] : [],
      found.sources?.length ? ['it has sources'] : [],
      found.sealed ? ['it is sealed'] : [],
    );
}

const sorted = (value: unknown) => (Array.isArray(value) ? [...value].sort() : value);
/** Servers leave out what is off. */
const defaultOf = (key: keyof StreamConfig) =>
  key.startsWith('deny') || key.startsWith('allow') ? false : key === 'max_age' ? 0 : -1;

/** The fleets that have a log on this server. @throws AppError log.unavailable */
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
