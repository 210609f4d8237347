/**
 * Membership: a replica joins once and is a member until it leaves (protocol.md §3). Replicas send a heartbeat every
 * second, on a subject that no stream captures, so that an idle fleet writes nothing to the log. Another replica
 * removes a member that is silent for ten seconds; the remaining members take over its open attempts.
 */

import {
  type Fleet,
  leftMessageId,
  ownerFor,
  readJson,
  rulesMessageId,
  rulesOfMembers,
  rulesRange,
} from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Bus } from '../../nats/bus.ts';
import type { EventLog } from '../../nats/log/event-log.ts';
import { within } from '../../timer.ts';
import type { FoldProgress } from '../fold/fold-progress.ts';
import type { LogClock } from '../fold/log-clock.ts';
import type { Lifecycle } from '../lifecycle.ts';
import { type OwnEntries, subject } from '../own-entries.ts';

const beatEveryMsDefault = 1_000;
/** A member is removed after this many missed heartbeats: ten seconds. */
const silentBeatsMax = 10;
/** The other members leave the removal to the one whose turn it is for this many heartbeats. */
const standbyBeats = 2;
/** A member lags if it has not folded the entries that this replica had folded this many heartbeats ago. */
const lagBeatsMax = 3;
const retryMs = 300;
const leaveTimeoutMs = 1_000;

export type Membership = {
  /**
   * Becomes a member or stays one, and starts the heartbeat. @throws the error that has ended the host in the meantime
   */
  join(): Promise<void>;
  /** Called at the log's head: starts to watch the other members. */
  open(): void;
  close(): void;
  /** Appends `replica.left`, for at most a second. */
  leave(): Promise<void>;
  /** Whether the member is alive but does not keep up with the log. */
  isLagging(member: string): boolean;
  /** Returns the last heartbeat of a member, or null before the first. */
  heard(member: string): Heard | null;
  /** Calls back at each heartbeat of this replica. */
  watch(onBeat: () => void): void;
};

/** `atMs` is this machine's time. `headSeq` is the last entry of the log at that time that this replica knew of. */
export type Heard = {
  readonly atMs: number;
  readonly seq: number;
  readonly headSeq: number;
  readonly isLagging: boolean;
};

/** `seq` is the last entry that the sender has folded. `startedMs` is a time of the sender's clock. */
type Beat = { readonly instance: string; readonly startedMs: number; readonly seq: number };

type State = {
  readonly options: MembershipOptions;
  readonly beatEveryMs: number;
  readonly instance: string;
  readonly startedMs: number;
  readonly heard: Map<string, Omit<Heard, 'isLagging'>>;
  /** Since when this replica hears the others and keeps up with the log. */
  hearingSinceMs: number;
  /** The last entry that this replica had folded at each of its last heartbeats, oldest first. */
  readonly foldedSeqs: number[];
  isOpen: boolean;
};

export type MembershipOptions = RulesOptions & {
  readonly log: Pick<EventLog, 'append' | 'lastSeq'>;
  readonly progress: Pick<FoldProgress, 'seq' | 'until'>;
  readonly bus: Pick<Bus, 'isConnected' | 'subscribe' | 'publish'>;
  readonly clock: () => number;
  readonly logClock: Pick<LogClock, 'since'>;
  readonly newId: () => string;
  readonly rulesMax?: number | undefined;
  /** Must be equal on all members of a fleet. Default: 1,000. */
  readonly beatEveryMs?: number | undefined;
  readonly onBroken: (isNameTaken: boolean) => void;
};

export function createMembership(options: MembershipOptions): Membership {
  const startedMs = options.clock();
  const { beatEveryMs = beatEveryMsDefault } = options;
  const state: State = {
    options,
    beatEveryMs,
    instance: options.newId(),
    startedMs,
    heard: new Map(),
    hearingSinceMs: startedMs,
    foldedSeqs: [],
    isOpen: false,
  };
  let timer: NodeJS.Timeout | null = null;
  let listening: { close(): void } | null = null;
  let watcher = () => {};
  const isLagging: Membership['isLagging'] = (member) => {
    const heard = state.heard.get(member);
    if (heard === undefined || options.clock() - heard.atMs > lagBeatsMax * beatEveryMs) return false;
    return state.foldedSeqs.length === lagBeatsMax && heard.seq < (state.foldedSeqs[0] ?? 0);
  };
  const close = () => {
    if (timer !== null) clearInterval(timer);
    listening?.close();
    [timer, listening] = [null, null];
  };
  return {
    async join() {
      listening = options.bus.subscribe(subject(options, 'alive.*'), (sender, text) => onBeat(state, sender, text));
      beat(state);
      timer = setInterval(() => {
        tick(state);
        watcher();
      }, beatEveryMs);
      await join(options);
    },
    open() {
      state.isOpen = true;
    },
    close,
    async leave() {
      close();
      const left = append(options, 'replica.left').catch(() => {});
      await within(leaveTimeoutMs, left);
    },
    isLagging,
    heard(member) {
      const heard = state.heard.get(member);
      return heard === undefined ? null : { ...heard, isLagging: isLagging(member) };
    },
    watch(onBeat) {
      watcher = onBeat;
    },
  };
}

const append = (options: MembershipOptions, type: 'replica.joined' | 'replica.left') => {
  const { fleet, log, replica, rulesMax } = options;
  const data = type === 'replica.joined' ? { replica, rules: rulesOffered(fleet, rulesMax) } : { replica };
  return log.append(subject(options, `own.fleet.${fleet.name}.${type}`), JSON.stringify(data), { replica });
};

/** A killed member that restarts under its name is still a member. It only joins again if it now knows other rules. */
async function join(options: MembershipOptions): Promise<void> {
  const { fleet, lifecycle, logger, replica } = options;
  const [, rulesMax] = rulesOffered(fleet, options.rulesMax);
  const isMember = () => fleet.replicas.has(replica) && fleet.rulesOfReplicas.get(replica) === rulesMax;
  while (options.lifecycle.isRunning() && !isMember()) {
    try {
      await options.progress.until((await append(options, 'replica.joined')).seq);
    } catch (error) {
      logger.warn({ err: error }, 'replica.joined not stored, trying again');
      await new Promise((done) => setTimeout(done, retryMs));
    }
  }
  lifecycle.lost.throwIfAborted();
}

function beat({ options, instance, startedMs }: State): void {
  const { bus, progress, replica } = options;
  const beat: Beat = { instance, startedMs, seq: progress.seq };
  bus.publish(subject(options, `alive.${replica}`), JSON.stringify(beat));
}

function tick(state: State): void {
  const { options, foldedSeqs, isOpen } = state;
  const { bus, clock, fleet, logger, progress, replica } = options;
  if (bus.isConnected()) beat(state);
  if (!isOpen || !bus.isConnected() || !options.lifecycle.isAtHead()) {
    state.hearingSinceMs = clock();
    foldedSeqs.length = 0;
    return;
  }
  foldedSeqs.push(progress.seq);
  if (foldedSeqs.length > lagBeatsMax) foldedSeqs.shift();
  if (!fleet.replicas.has(replica)) {
    logger.warn('the other replicas removed this one while it was silent; joining again');
    join(options).catch(() => {}); // rejects only if the host has ended, which is reported elsewhere
  }
  for (const [member, joinedMs] of fleet.replicas) if (member !== replica) removeIfSilent(state, member, joinedMs);
}

/** Appends `replica.left` for a silent member. All members use the same message id, so that one entry is stored. */
function removeIfSilent(
  { options, beatEveryMs, heard, hearingSinceMs }: State,
  member: string,
  joinedMs: number,
): void {
  const { clock, fleet, logClock, logger, replica } = options;
  const silentMsMax = silentBeatsMax * beatEveryMs;
  const silentMs = () =>
    Math.min(
      clock() - Math.max(heard.get(member)?.atMs ?? 0, hearingSinceMs),
      logClock.since(joinedMs), // it may have joined just now
    );
  const isFirst = ownerFor(fleet, member, null, new Set([member])) === replica;
  if (silentMs() < silentMsMax + (isFirst ? 0 : standbyBeats * beatEveryMs)) return;
  logger.warn({ member, silentMs: silentMs() }, 'removing a silent replica');
  heard.delete(member);
  void options.entries.untilFolded({
    tail: `own.fleet.${fleet.name}.replica.left`,
    data: { replica: member },
    messageId: leftMessageId(member, joinedMs),
    isNeeded: () =>
      options.lifecycle.isRunning() && fleet.replicas.get(member) === joinedMs && silentMs() >= silentMsMax,
  });
}

function onBeat(state: State, sender: string, text: string): void {
  const { options, heard, instance, startedMs } = state;
  const member = sender.slice(sender.lastIndexOf('.') + 1);
  const beat = readBeat(text);
  if (beat === null) return;
  if (member !== options.replica) {
    // Anybody may publish to this subject, so only members are remembered.
    if (!options.fleet.replicas.has(member)) return;
    const headSeq = Math.max(options.progress.seq, options.log.lastSeq());
    heard.set(member, { atMs: options.clock(), seq: beat.seq, headSeq });
    return;
  }
  if (beat.instance === instance) return;
  // Two replicas with one name that start at the same moment do not detect each other by a ping. The later one ends.
  const isLater = beat.startedMs < startedMs || (beat.startedMs === startedMs && beat.instance < instance);
  if (!isLater || options.lifecycle.lost.aborted) return;
  options.lifecycle.lose(options.lifecycle.hasStarted ? replacedByOther(member) : nameTaken(member));
  options.logger.error({ replica: member }, nameTaken(member).message);
  options.onBroken(true);
}

function readBeat(text: string): Beat | null {
  const read = readJson(text);
  if (!read.ok) return null;
  const { instance, startedMs, seq } = read.value as Partial<Record<keyof Beat, unknown>>;
  const isBeat = typeof instance === 'string' && typeof startedMs === 'number' && typeof seq === 'number';
  return isBeat ? { instance, startedMs, seq } : null;
}

/** Creates the error for requests to this replica, which ends. The other replica answers a retry. */
const replacedByOther = (replica: string): AppError =>
  new AppError('log.unavailable', `another replica is also named '${replica}', so this one stops: try again`);

export const nameTaken = (replica: string): AppError =>
  new AppError(
    'replica.running',
    `a replica named '${replica}' is already running: stop it, or give this one another name with --replica`,
  );

/** Returns the range of rules versions that `replica.joined` announces. `rulesMax` caps it. */
function rulesOffered({ rulesKnown }: Fleet, rulesMax: number | undefined): readonly [min: number, max: number] {
  const [min, max] = rulesRange(rulesKnown);
  return [min, Math.max(min, Math.min(max, rulesMax ?? max))];
}

export type RulesOptions = {
  readonly fleet: Fleet;
  readonly replica: string;
  readonly lifecycle: Lifecycle;
  readonly entries: OwnEntries;
  readonly logger: Logger;
};

/** Puts the newest rules in force that all members know. Call at the log's head, and when a replica joins or leaves. */
export function upgradeRules(options: RulesOptions): void {
  const { fleet, replica, logger } = options;
  const isNeeded = () => options.lifecycle.isRunning() && fleet.rules.version < version;
  const version = rulesOfMembers(fleet);
  if (!options.lifecycle.isAtHead() || !isNeeded() || ownerFor(fleet, 'rules', null) !== replica) return;
  logger.info({ version, before: fleet.rules.version }, 'putting newer rules in force: every replica knows them');
  void options.entries.untilFolded({
    tail: `own.fleet.${fleet.name}.rules.set`,
    data: { version },
    messageId: rulesMessageId(version),
    isNeeded: () => isNeeded() && rulesOfMembers(fleet) >= version,
  });
}
