/**
 * The fleets that one process serves: those of a selection, each with its own replica on the shared connection. If a
 * fleet cannot be opened, the process tries again, and serves the others meanwhile.
 */
import { createSemaphore } from '../concurrency/semaphore.ts';
import { type FleetSelection, isInShard, matchesSelection, type Shard, shardOf } from '../config/fleet-selection.ts';
import { AppError } from '../errors.ts';
import { type FleetDirectory, type FleetState, type ServedFleet, toFleetState } from '../http/fleet-directory.ts';
import type { Logger } from '../log.ts';
import { isWithoutLeader } from '../nats/log/stream-info.ts';
import type { Service } from '../service/index.ts';
import type { Replica } from './replica.ts';

export type FleetsOptions = {
  readonly selection: FleetSelection;
  readonly shard: Shard | null;
  readonly replica: string;
  /** `onFolding` gets how far the log is folded, while it opens. */
  readonly open: (fleet: string, onFolding: (status: Service['status']) => void) => Promise<Replica>;
  /** Called before the first fleet is opened, which may take minutes: the directory says how far they are. */
  readonly onOpening?: (directory: FleetDirectory) => Promise<void>;
  /** The fleets that have a log; asked where the selection has a pattern. */
  readonly find: () => Promise<readonly string[]>;
  readonly logger: Logger;
  /** The process ends: what fails now is no fault of a fleet. */
  readonly isInterrupted?: () => boolean;
  /** New fleets are searched for this often, and failed ones tried again if they are due. */
  readonly everyMs?: number;
};

export type Fleets = {
  readonly directory: FleetDirectory;
  /** Returns the replicas of all fleets that are open now. */
  replicas(): readonly Replica[];
  /** Other fleets than before: what is new is opened, what is not meant any more is closed. */
  select(selection: FleetSelection): Promise<void>;
  /** Resolves when the process must end: its only fleet cannot be served any longer, or another has its name. */
  readonly broken: Promise<string>;
  close(): Promise<void>;
};

type Slot = {
  readonly name: string;
  replica: Replica | null;
  /** Says why it is not open. */
  fault: AppError;
  /** The status of the replica that is being opened, once it folds its log. */
  folding: Service['status'] | null;
  tries: number;
  /** On the stopwatch. */
  retryAtMs: number;
  /** Resolves when the try under way has ended, either way. */
  opening: Promise<void> | null;
};

const everyMsDefault = 2_000;
const retryMsMax = 60_000;
/** Each start reads a log and folds it: more at once would only make all of them late. */
const openAtOnceMax = 4;

/** @throws AppError if the process has one fleet, and that cannot be opened */
export async function openFleets(options: FleetsOptions): Promise<Fleets> {
  const supervisor = createSupervisor(options);
  const { isOnly, slots } = supervisor;
  const directory = createDirectory(options, supervisor);
  await options.onOpening?.(directory);
  await supervisor.refresh();
  await supervisor.opened();
  const findFailed = () => [...slots.values()].find(({ replica }) => replica === null);
  await untilLeader(options, supervisor, findFailed);
  const failed = findFailed();
  if (failed !== undefined && isOnly()) {
    await supervisor.close();
    throw failed.fault;
  }
  const timer = setInterval(() => void supervisor.refresh(), options.everyMs ?? everyMsDefault);
  return {
    directory,
    replicas: () => [...slots.values()].flatMap(({ replica }) => (replica === null ? [] : [replica])),
    select: supervisor.select,
    broken: supervisor.broken,
    async close() {
      clearInterval(timer);
      await supervisor.close();
    },
  };
}

/** A cluster may elect its leader just now, or lack nodes: its only fleet is waited for, like those of many. */
async function untilLeader(
  { logger, isInterrupted = () => false }: FleetsOptions,
  { isOnly, refresh, opened }: Supervisor,
  findFailed: () => Slot | undefined,
): Promise<void> {
  let isTold = false;
  for (;;) {
    const failed = findFailed();
    if (failed === undefined || !isOnly() || isInterrupted() || !isWithoutLeader(failed.fault)) return;
    if (!isTold)
      logger.warn({ fleet: failed.name, err: failed.fault }, 'the cluster has no leader for the log; waiting');
    isTold = true;
    await new Promise((done) => setTimeout(done, electionPauseMs));
    failed.retryAtMs = 0;
    await refresh();
    await opened();
  }
}

/** An election takes some seconds. */
const electionPauseMs = 500;

type Supervisor = {
  readonly slots: ReadonlyMap<string, Slot>;
  readonly selection: () => FleetSelection;
  /** One fleet was named and nothing else: it and the process live and die together. */
  readonly isOnly: () => boolean;
  readonly broken: Promise<string>;
  /** Finds the fleets that are wanted now, and begins to open those that are due. */
  refresh(): Promise<void>;
  /** No try is under way. */
  opened(): Promise<unknown>;
  select(selection: FleetSelection): Promise<void>;
  close(): Promise<void>;
};

function createSupervisor(options: FleetsOptions): Supervisor {
  const { shard, logger } = options;
  let { selection } = options;
  let closed = false;
  let refreshing: Promise<void> | null = null;
  let onBroken = (_why: string) => {};
  const broken = new Promise<string>((done) => {
    onBroken = done;
  });
  const slots = new Map<string, Slot>();
  const isOnly = () => selection.names.length === 1 && selection.patterns.length === 0 && shard === null;
  const start = createStarter(options, isOnly, (slot, isNameTaken) => {
    // All fleets of a process have one replica name.
    if (isOnly() || isNameTaken) onBroken('it cannot serve any longer');
    else logger.error({ fleet: slot.name }, 'this fleet is not served until a restart; the others are');
  });
  const refreshOnce = async () => {
    const names = await findWanted(options, selection, [...slots.keys()]);
    if (closed) return;
    const dropped = [...slots.values()].filter(({ name }) => !names.has(name));
    for (const { name } of dropped) slots.delete(name);
    for (const name of names) if (!slots.has(name)) slots.set(name, newSlot(name));
    for (const slot of slots.values()) start(slot);
    await Promise.all(dropped.map(closeSlot));
  };
  const refresh = () => {
    refreshing ??= refreshOnce()
      // Nobody waits for most of these: a fleet that does not close well must not end the others.
      .catch((error: unknown) => logger.error({ err: error }, 'the fleets could not be changed; trying again'))
      .finally(() => {
        refreshing = null;
      });
    return refreshing;
  };
  return {
    slots,
    isOnly,
    broken,
    refresh,
    selection: () => selection,
    opened: () => Promise.all([...slots.values()].map(({ opening }) => opening)),
    async select(given) {
      await refreshing; // it has begun with the old one
      selection = given;
      await refresh();
    },
    async close() {
      closed = true;
      await refreshing;
      await Promise.all([...slots.values()].map(closeSlot));
    },
  };
}

/**
 * Finds the fleets to serve. One that was found once stays: a log that is gone is a fault of its fleet, and not its
 * end.
 */
async function findWanted(
  { shard, find, logger }: FleetsOptions,
  selection: FleetSelection,
  known: readonly string[],
): Promise<ReadonlySet<string>> {
  const findOthers = async () => {
    if (selection.patterns.length === 0) return [];
    try {
      return await find();
    } catch (error) {
      logger.warn({ err: error }, 'cannot look for new fleets now');
      return [];
    }
  };
  const found = [...known, ...(await findOthers())].filter((fleet) => matchesSelection(selection, fleet)).sort();
  return new Set([...selection.names, ...found].filter((fleet) => isInShard(shard, fleet)));
}

const newSlot = (name: string): Slot => ({
  name,
  replica: null,
  folding: null,
  tries: 0,
  retryAtMs: 0,
  opening: null,
  fault: new AppError('log.unavailable', `fleet '${name}' is still starting; try again`),
});

async function closeSlot(slot: Slot): Promise<void> {
  await slot.opening;
  await slot.replica?.close();
}

/** Begins to open a fleet, if that is due. */
function createStarter(
  { open, logger, isInterrupted = () => false }: FleetsOptions,
  isOnly: () => boolean,
  onBroken: (slot: Slot, isNameTaken: boolean) => void,
): (slot: Slot) => void {
  const places = createSemaphore(openAtOnceMax);
  const tryOpen = async (slot: Slot) => {
    await places.acquire(new AbortController().signal); // never aborted: it waits for its place
    try {
      slot.replica = await open(slot.name, (status) => {
        slot.folding = status;
      });
      void slot.replica.broken.then((isNameTaken) => onBroken(slot, isNameTaken));
      if (slot.tries > 0) logger.info({ fleet: slot.name }, 'this fleet is served again');
    } catch (error) {
      onFailed(slot, error, isOnly() || isInterrupted() ? null : logger);
    } finally {
      places.release();
      slot.opening = null;
      slot.folding = null;
    }
  };
  return (slot) => {
    if (slot.replica === null && slot.opening === null && slot.retryAtMs <= performance.now())
      slot.opening = tryOpen(slot);
  };
}

/** `logger` null: the process ends with this error, which its edge shows. */
function onFailed(slot: Slot, error: unknown, logger: Logger | null): void {
  const { name: fleet, tries } = slot;
  slot.fault =
    error instanceof AppError ? error : new AppError('log.unavailable', (error as Error).message, { cause: error });
  slot.tries += 1;
  slot.retryAtMs = performance.now() + Math.min(1_000 * 2 ** tries, retryMsMax);
  // Once, and not with each try. Only unexpected errors need a stack.
  if (tries > 0) return;
  const { code, message } = slot.fault;
  const what = error instanceof AppError ? { code, reason: message } : { code, err: error };
  logger?.error({ fleet, ...what }, 'this fleet is not served; trying again');
}

function createDirectory({ replica, shard }: FleetsOptions, { slots, selection }: Supervisor): FleetDirectory {
  const servedOf = new WeakMap<Replica, ServedFleet>();
  const missing = (fleet: string): AppError => {
    const elsewhere = shard === null ? null : shardOf(fleet, shard.count);
    const names = [...slots.keys()].slice(0, 5).map((name) => `'${name}'`);
    const served = names.length === 0 ? 'no fleet yet' : `${names.join(', ')}${slots.size > names.length ? ', …' : ''}`;
    const why =
      shard !== null && elsewhere !== shard.index
        ? `it belongs to shard ${elsewhere}/${shard.count}, and this process is ${shard.index}/${shard.count}`
        : `this service serves ${served}`;
    return new AppError('actor.unknown', `no fleet '${fleet}' here; ${why}`);
  };
  return {
    replica,
    default: () => selection().names[0] ?? null,
    has: (fleet) => slots.has(fleet),
    find(fleet) {
      const slot = slots.get(fleet);
      if (slot === undefined) throw missing(fleet);
      if (slot.replica === null) throw faultOf(slot);
      const found = servedOf.get(slot.replica) ?? pickServed(slot.replica);
      servedOf.set(slot.replica, found);
      return found;
    },
    states: () => [...slots.values()].map(stateOf).sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

const pickServed = ({ service, inspection }: Replica): ServedFleet => ({ service, inspection });

/** Says why a fleet that is not open is not. */
function faultOf({ fault, folding }: Slot): AppError {
  const status = folding?.();
  return status?.reason == null ? fault : new AppError(status.code ?? 'log.unavailable', status.reason);
}

function stateOf(slot: Slot): FleetState {
  const { name, replica, folding } = slot;
  if (replica !== null) return toFleetState(replica.service);
  const { foldedSeq = 0, lag = 0 } = folding?.() ?? {};
  return { name, fault: faultOf(slot), foldedSeq, lag, workers: 0, openAttempts: 0, neglected: 0, stateShare: 0 };
}
