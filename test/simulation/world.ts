/**
 * The world of one run: a simulated NATS server with a disk, replicas of the real service, and operations for faults.
 */
import { NatsConnectionImpl, setTransportFactory } from '@nats-io/nats-core/internal';
import { openLink } from '../../src/app/link.ts';
import { openReplica, type Replica, type ReplicaOptions } from '../../src/app/replica.ts';
import type { RetentionRules } from '../../src/config/file.ts';
import { AppError } from '../../src/errors.ts';
import type { SnapshotSchedule } from '../../src/host/maintenance/snapshot-taker.ts';
import type { Logger } from '../../src/log.ts';
import type { Http } from './http.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { readCommands, readField } from './nats/protocol.ts';
import { createNatsServer, type NatsServer } from './nats/server.ts';
import { createDisk, type Disk, renumber, type StoredMessage, type Stream, truncate } from './nats/store.ts';
import { createNetwork, type Network } from './network.ts';
import type { Random } from './random.ts';
import { type Release, rulesOf } from './releases.ts';
import { createRunCheck } from './run-check.ts';
import { epochMs, type Process, type Scheduler } from './scheduler.ts';
import { isCovered } from './snapshots.ts';

export const fleet = 'main';
const logName = `STOPGATE_${fleet}`;
const deadName = `STOPGATE-DEAD_${fleet}`;
const rulesSet = `stopgate.${fleet}.own.fleet.${fleet}.rules.set`;
const rulesSetBytes = Buffer.from(rulesSet);

/** A replica with its supervisor. `replica` is null while it does not serve. */
export type Member = {
  readonly name: string;
  process: Process;
  replica: Replica | null;
  /** The replica instance that had folded entries that the store lost. A later instance has not. */
  outran: Replica | null;
  /** While true, it is not restarted. */
  down: boolean;
  lastError: string | null;
  /** Release for the next start, release that runs now, and release that failed with `lastError`. */
  release: Release;
  running: Release;
  failed: Release;
  /** Whether it is started with `--accept-empty-log`. */
  acceptEmptyLog: boolean;
};

export type World = {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly network: Network;
  readonly http: Http;
  readonly disk: Disk;
  readonly ledger: Ledger;
  readonly members: readonly Member[];
  /** Number of times that replicas logged a text. */
  readonly heard: Map<string, number>;
  /** Object names of damaged snapshots. */
  readonly damaged: Set<string>;
  /** The largest change of the server's clock, which may be undone at a restart. */
  serverClockStepMs: number;
  /** Null while it is down. */
  readonly server: NatsServer | null;
  readonly log: Stream | undefined;
  readonly settings: Settings;
  trace(line: string): void;
  fail(what: string): void;
  readonly failures: readonly string[];
  start(member: Member): void;
  /** Briefly starts another replica with the same name. `onServing` is called if it is not refused. */
  startTwin(member: Member, onServing: () => void): void;
  crash(member: Member): void;
  startServer(): void;
  /** With `power`, unsynced messages are lost too. */
  stopServer(how: 'process' | 'power'): void;
  /** Rolls the log back to `seq`, or deletes it if null. Only while the server is down. */
  rewind(seq: number | null): void;
  /** Renumbers some entries. Only while the server is down. */
  renumber(random: Random): void;
  /** Called when a replica is about to activate a rules version. */
  onRulesSet: () => void;
  /** Called before all messages before `seq` are removed from a stream. */
  onPurge: (stream: Stream, seq: number) => void;
  /** Called for the running server and for each later one. */
  onServer(run: (server: NatsServer) => void): void;
};

export type Settings = {
  readonly replicas: number;
  readonly workers: number;
  /** Duration of faults and work, in virtual time. */
  readonly busyMs: number;
  /** Interval of disk syncs. 0 means that each entry is synced before it is acknowledged. */
  readonly syncEveryMs: number;
  readonly policies: NonNullable<ReplicaOptions['policies']>;
  readonly retention: RetentionRules;
  /** Null means the default, with which only clean stops write snapshots during a run. */
  readonly snapshotSchedule: SnapshotSchedule | null;
  /** Whether there are three nodes. */
  readonly isCluster: boolean;
  /** Release with which all replicas start. */
  readonly release: Release;
};

export type WorldOptions = {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly settings: Settings;
  readonly http: Http;
  /** Receives trace lines. Null if not needed. */
  readonly onTrace: ((line: string) => void) | null;
};

export function createWorld({ scheduler, random, settings, http, onTrace }: WorldOptions): World {
  const failures: string[] = [];
  const disk = createDisk();
  const onServers: ((server: NatsServer) => void)[] = [];
  let server: NatsServer | null = null;
  let renumberedBy: 1 | -1 | null = null;
  const onSend = (_process: Process, frame: Uint8Array) => {
    if (putsRulesInForce(frame)) world.onRulesSet();
  };
  const network = createNetwork(scheduler, random.fork('network'), () => server, onSend);
  // The library has one transport per process, so each simulated process gets its own here.
  setTransportFactory({ factory: () => network.createTransport(scheduler.current as Process) });
  const members = Array.from({ length: settings.replicas }, (_, index) =>
    createMember(scheduler, `r${index + 1}`, settings),
  );
  const trace = (line: string) => onTrace?.(`${((scheduler.nowMs - epochMs) / 1_000).toFixed(4).padStart(9)} ${line}`);
  const world: World = {
    scheduler,
    random,
    network,
    http,
    disk,
    members,
    settings,
    failures,
    trace,
    ledger: createLedger(),
    damaged: new Set(),
    heard: new Map(),
    serverClockStepMs: 0,
    onPurge: () => {},
    onRulesSet: () => {},
    get server() {
      return server;
    },
    get log() {
      return disk.streams.get(logName);
    },
    fail(what) {
      trace(`FAILED: ${what}`);
      failures.push(what);
    },
    start: (member) => startMember(world, member),
    startTwin: (member, onServing) => startTwin(world, member, onServing),
    crash(member) {
      trace(`${member.name} crashes`);
      endMember(world, member);
    },
    startServer() {
      trace('nats starts');
      const process = scheduler.spawn('nats');
      server = createNatsServer({
        scheduler,
        random: random.fork('nats'),
        process,
        disk,
        trace: traceMessages(trace, onTrace),
        onPurge: (stream, seq) => world.onPurge(stream, seq),
        isCluster: settings.isCluster,
      });
      for (const run of onServers) run(server);
    },
    stopServer(how) {
      trace(`nats ends: ${how}`);
      if (server !== null) scheduler.kill(server.process);
      server = null;
      for (const link of network.links) {
        link.toClient.loseTail();
        link.toClient.close();
      }
      if (how === 'power') for (const stream of disk.streams.values()) lose(world, stream, stream.syncedSeq);
    },
    rewind(seq) {
      const log = disk.streams.get(logName);
      if (log === undefined) return;
      lose(world, log, seq ?? 0);
      if (seq !== null) return;
      world.ledger.onLost(log.cut);
      disk.streams.delete(logName);
    },
    renumber(chance) {
      const log = disk.streams.get(logName);
      if (log === undefined || log.messages.length < 2) return;
      const from = chance.int(Math.max(1, log.messages.length - 20), log.messages.length - 1);
      // A move among equal neighbours cannot be noticed, which is one reason why such servers may not keep replicas.
      if (log.messages.slice(from).some((message, index) => isEqual(message, log.messages[from + index - 1]))) return;
      // Always in the same direction: if an entry returned to its old sequence, earlier moves could not be noticed.
      renumberedBy ??= chance.pick([1, -1]);
      const moved = renumber(log, from, renumberedBy);
      trace(`from ${moved[0]?.seq} on the log has other numbers`);
      world.ledger.onLost(moved);
    },
    onServer(run) {
      onServers.push(run);
      if (server !== null) run(server);
    },
  };
  keepSyncing(world);
  return world;
}

/** Whether two entries differ in nothing by which a replica recognises one: subject, time and payload. */
const isEqual = (one: StoredMessage, other: StoredMessage | undefined): boolean =>
  other !== undefined &&
  one.subject === other.subject &&
  one.atMs === other.atMs &&
  Buffer.from(one.data).equals(other.data);

/** The bytes may also match a reply subject, so parse the frame. */
function putsRulesInForce(frame: Uint8Array): boolean {
  if (!Buffer.from(frame.buffer, frame.byteOffset, frame.length).includes(rulesSetBytes)) return false;
  return readCommands(frame).some((command) => command.kind === 'pub' && command.message.subject === rulesSet);
}

function lose(world: World, stream: Stream, seq: number): void {
  const gone = truncate(stream, seq);
  if (gone.length === 0) return;
  world.trace(`the store of ${stream.config.name} went back to ${seq}: ${gone.length} messages are gone`);
  if (stream.config.name === logName) {
    world.ledger.onLost(gone);
    // A start with the operator's flag accepts the current log even without a snapshot of trimmed entries.
    if (world.members.some((it) => it.acceptEmptyLog) && !isCovered(world, stream))
      world.ledger.onLost(stream.cut.splice(0));
    for (const member of world.members) if ((member.replica?.fleet.seq ?? 0) > seq) member.outran = member.replica;
  }
  if (stream.config.name === deadName)
    for (const { data } of gone) world.ledger.lostLetters.add((JSON.parse(data.toString()) as { seq: number }).seq);
}

function keepSyncing({ scheduler, disk, settings }: World): void {
  const sync = () => {
    for (const stream of disk.streams.values()) stream.syncedSeq = stream.lastSeq;
    scheduler.after(null, Math.max(50, settings.syncEveryMs), sync);
  };
  scheduler.after(null, Math.max(50, settings.syncEveryMs), sync);
}

function traceMessages(trace: World['trace'], onTrace: unknown) {
  if (onTrace === null) return () => {};
  return ({ subject, reply, header, data }: Parameters<Parameters<typeof createNatsServer>[0]['trace']>[0]) => {
    const id = readField(header, 'Nats-Msg-Id');
    trace(
      `  ${subject}${id === undefined ? '' : ` (${id})`}${reply === '' ? '' : ` -> ${reply}`} ${data.toString().slice(0, 160)}`,
    );
  };
}

const createMember = (scheduler: Scheduler, name: string, { release }: Settings): Member => ({
  lastError: null,
  acceptEmptyLog: false,
  release,
  running: release,
  failed: release,
  name,
  process: scheduler.spawn(name),
  replica: null,
  outran: null,
  down: true,
});

function endMember(world: World, member: Member): void {
  world.scheduler.kill(member.process);
  world.network.drop(member.process);
  member.replica = null;
  member.down = true;
}

/** Starts it in its own process, repeatedly until it serves. */
function startMember(world: World, member: Member): void {
  const { scheduler, network } = world;
  const before = member.process;
  const routes = network.routesOf(before);
  const process = scheduler.spawn(member.name);
  process.clockOffsetMs = before.clockOffsetMs;
  Object.assign(network.routesOf(process).toServer, routes.toServer);
  Object.assign(network.routesOf(process).toClient, routes.toClient);
  Object.assign(member, { process, replica: null, down: false, running: member.release });
  world.trace(`${member.name} starts`);
  const again = (why: string) => {
    if (!process.alive) return;
    world.trace(`${member.name} exits: ${why}`);
    member.lastError = why;
    member.failed = member.running;
    endMember(world, member);
    scheduler.after(null, 1_000, () => {
      if (member.process === process) startMember(world, member);
    });
  };
  scheduler.after(process, 1, () => {
    open(world, member, process).then(
      ({ replica, closed }) => {
        member.replica = replica;
        member.lastError = null;
        member.acceptEmptyLog = false;
        world.trace(`${member.name} serves`);
        void closed.then(() => again('it can no longer serve'));
      },
      (error: Error) => again(error instanceof AppError ? `${error.code}: ${error.message}` : String(error.stack)),
    );
  });
}

function startTwin(world: World, member: Member, onServing: () => void): void {
  const { scheduler, network } = world;
  const process = scheduler.spawn(member.name);
  const end = () => {
    scheduler.kill(process);
    network.drop(process);
  };
  const onOpened = () => {
    world.trace(`a twin of ${member.name} serves`);
    scheduler.after(null, twinMs, () => {
      if (process.alive) onServing();
      end();
    });
  };
  scheduler.after(process, 1, () => void open(world, member, process).then(onOpened, end));
}

const twinMs = 50;
const noop = () => {};

type Opened = { readonly replica: Replica; readonly closed: Promise<unknown> };

async function open(world: World, { name, acceptEmptyLog, release }: Member, process: Process): Promise<Opened> {
  const { policies, retention, snapshotSchedule, isCluster } = world.settings;
  const log = (level: string) => (fields: unknown, text?: string) => {
    world.heard.set(text ?? '', (world.heard.get(text ?? '') ?? 0) + 1);
    if (text === 'a message could not be handled') world.fail(`${name}: ${text}`);
    const { err, ...rest } = (typeof fields === 'object' ? fields : { fields }) as { err?: Error };
    world.trace(`${name} ${level}: ${text ?? ''} ${JSON.stringify(rest)}${err === undefined ? '' : ` ${err.message}`}`);
  };
  const logger = {
    debug: noop,
    info: log('says'),
    warn: log('warns'),
    error: log('errs'),
    child: () => logger,
  } as unknown as Logger;
  const link = await openLink({
    nats: 'nats://sim:4222',
    name,
    version: '0.0.0',
    logger,
    connect: (options) => NatsConnectionImpl.connect(options),
  });
  const replica = await openReplica(link, {
    fleet,
    logger,
    policies,
    retention,
    acceptEmptyLog,
    rules: rulesOf[release],
    streamReplicas: isCluster ? 3 : 1,
    ...(snapshotSchedule === null ? {} : { snapshotSchedule }),
    runCheck: createRunCheck(world, process),
    metrics: {
      folded: noop,
      decided: noop,
      refused: noop,
      dead: noop,
      policyConflict: noop,
      hookRan: noop,
      used: noop,
      bounded: noop,
      answered: noop,
    },
  });
  return { replica, closed: Promise.race([link.nc.closed(), link.logNc.closed(), replica.broken]) };
}
