/**
 * The fleets that one process serves: every fleet of a selection has its own replica on the shared connection. If a
 * fleet cannot be opened, the process retries and meanwhile serves the others.
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
  /** Calls `onFolding` before it folds the log, with a function that returns the progress. */
  readonly open: (fleet: string, onFolding: (status: Service['status']) => void) => Promise<Replica>;
  /** Called before the first fleet is opened, which may take minutes. The directory shows the progress. */
  readonly onOpening?: (directory: FleetDirectory) => Promise<void>;
  /** Returns the fleets that have a log. Called if the selection has a pattern. */
  readonly find: () => Promise<readonly string[]>;
  readonly logger: Logger;
  /** Whether the process is ending, so that failures are not reported. */
  readonly isInterrupted?: () => boolean;
  /** Interval of the search for new fleets and of retries. Default: 2,000. */
  readonly everyMs?: number;
};

export type Fleets = {
  readonly directory: FleetDirectory;
  /** Returns the replicas of all fleets that are open now. */
  replicas(): readonly Replica[];
  /** Changes the selection: opens new fleets and closes those that are no longer selected. */
  select(selection: FleetSelection): Promise<void>;
  /** Resolves when the process must end: its only fleet can no longer be served, or another replica has its name. */
  readonly broken: Promise<string>;
  close(): Promise<void>;
};

type Slot = {
  readonly name: string;
  replica: Replica | null;
  /** The reason while it is not open. */
  fault: AppError;
  /** The status of the replica while it folds its log, otherwise null. */
  folding: Service['status'] | null;
  tries: number;
  /** By `performance.now()`. */
  retryAtMs: number;
  /** Resolves when the current try to open it has ended, whatever the result. */
  opening: Promise<void> | null;
};

const everyMsDefault = 2_000;
const retryMsMax = 60_000;
/** Opening a fleet folds its whole log. More at once would only delay all of them. */
const openAtOnceMax = 4;

/** @throws AppError if the process has only one fleet, which cannot be opened */
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

/**
 * While the cluster has no leader (an election, or missing nodes), waits for the process's only fleet instead of
 * failing.
 */
async function untilLeader(
  { logger, isInterrupted = () => false }: FleetsOptions,
  { isOnly, refresh, opened }: Supervisor,
  findFailed: () => Slot | undefined,
): Promise<void> {
  let hasWarned = false;
  for (;;) {
    const failed = findFailed();
    if (failed === undefined || !isOnly() || isInterrupted() || !isWithoutLeader(failed.fault)) return;
    if (!hasWarned)
      logger.warn({ fleet: failed.name, err: failed.fault }, 'the cluster has no leader for the log; waiting');
    hasWarned = true;
    await new Promise((done) => setTimeout(done, electionPauseMs));
    failed.retryAtMs = 0;
    await refresh();
    await opened();
  }
}

/** An election takes a few seconds. */
const electionPauseMs = 500;

type Supervisor = {
  readonly slots: ReadonlyMap<string, Slot>;
  readonly selection: () => FleetSelection;
  /** Whether the selection is exactly one named fleet. Then the process ends with it. */
  readonly isOnly: () => boolean;
  readonly broken: Promise<string>;
  /** Finds the selected fleets and starts to open those that are due. */
  refresh(): Promise<void>;
  /** Resolves when no try to open a fleet is running. */
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
    // All fleets of a process share one replica name.
    if (isOnly() || isNameTaken) onBroken('it can no longer serve');
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
      // An error while closing one fleet must not affect the others.
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
    async select(newSelection) {
      await refreshing; // it uses the old selection
      selection = newSelection;
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
 * Finds the fleets to serve. A fleet that was found once stays: if its log disappears, that is a fault to report.
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

/** Returns a function that starts to open a fleet if it is due. */
function createStarter(
  { open, logger, isInterrupted = () => false }: FleetsOptions,
  isOnly: () => boolean,
  onBroken: (slot: Slot, isNameTaken: boolean) => void,
): (slot: Slot) => void {
  const permits = createSemaphore(openAtOnceMax);
  const tryOpen = async (slot: Slot) => {
    await permits.acquire(new AbortController().signal); // never aborted
    try {
      slot.replica = await open(slot.name, (status) => {
        slot.folding = status;
      });
      void slot.replica.broken.then((isNameTaken) => onBroken(slot, isNameTaken));
      if (slot.tries > 0) logger.info({ fleet: slot.name }, 'this fleet is served again');
    } catch (error) {
      onFailed(slot, error, isOnly() || isInterrupted() ? null : logger);
    } finally {
      permits.release();
      slot.opening = null;
      slot.folding = null;
    }
  };
  return (slot) => {
    if (slot.replica === null && slot.opening === null && slot.retryAtMs <= performance.now())
      slot.opening = tryOpen(slot);
  };
}

/** `logger` is null if the process ends with this error, which the command line prints. */
function onFailed(slot: Slot, error: unknown, logger: Logger | null): void {
  const { name: fleet, tries } = slot;
  slot.fault =
    error instanceof AppError ? error : new AppError('log.unavailable', (error as Error).message, { cause: error });
  slot.tries += 1;
  slot.retryAtMs = performance.now() + Math.min(1_000 * 2 ** tries, retryMsMax);
  // Log only the first failure. Only unexpected errors need a stack.
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

/** Returns why a fleet is not open. */
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
