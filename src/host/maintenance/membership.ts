/**
 * Membership: a replica joins once and is a member until it left (protocol.md §3). That it lives is heard outside of the
 * log, by a beat a second on a subject that no stream captures, so that an idle fleet writes nothing. A member that is
 * not heard for ten seconds is taken out by another, and its open attempts go to those that stay.
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
/** A member that misses so many beats has left: ten seconds. */
const silentBeatsMax = 10;
/** The others wait so many beats for the one whose turn it is. */
const standbyBeats = 2;
/** A member that has not folded what this one had so many beats ago does not keep up. */
const lagBeatsMax = 3;
const retryMs = 300;
const leaveTimeoutMs = 1_000;

export type Membership = {
  /** Becomes a member, or stays one; from here on it is heard. @throws what has ended the host meanwhile */
  join(): Promise<void>;
  /** The log's head is reached: from here on it watches the others. */
  open(): void;
  close(): void;
  /** Appends `replica.left`, if the log takes it soon enough. */
  leave(): Promise<void>;
  /** It lives, and does not keep up with the log. */
  isLagging(member: string): boolean;
  /** Returns the last report of a member; null: none yet. */
  heard(member: string): Heard | null;
  /** Calls back with each beat of this replica. */
  watch(onBeat: () => void): void;
};

/** `atMs`: of this machine's clock. `headSeq`: the last entry of the log then, as far as this replica had heard of it. */
export type Heard = {
  readonly atMs: number;
  readonly seq: number;
  readonly headSeq: number;
  readonly isLagging: boolean;
};

/** `seq`: the last entry that it has folded; `startedMs`: by its own clock. */
type Beat = { readonly instance: string; readonly startedMs: number; readonly seq: number };

type State = {
  readonly options: MembershipOptions;
  readonly beatEveryMs: number;
  readonly instance: string;
  readonly startedMs: number;
  readonly heard: Map<string, Omit<Heard, 'isLagging'>>;
  /** Since when this replica could hear the others and fold what they did. */
  hearingSinceMs: number;
  /** The entries that this replica had folded at each of its last beats, the oldest first. */
  readonly foldedSeqs: number[];
  isOpen: boolean;
};

export type MembershipOptions = RulesOptions & {
  readonly log: Pick<EventLog, 'append' | 'lastSeq'>;
  readonly progress: Pick<FoldProgress, 'seq' | 'until'>;
  readonly bus: Pick<Bus, 'isConnected' | 'listen' | 'tell'>;
  readonly clock: () => number;
  readonly logClock: Pick<LogClock, 'since'>;
  readonly newId: () => string;
  readonly rulesMax?: number | undefined;
  /** Every member of a fleet has the same. Default: 1,000. */
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
      listening = options.bus.listen(subject(options, 'alive.*'), (at, text) => onBeat(state, at, text));
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

/** A member that was killed and is back under its name has never left; it says so if it knows other rules now. */
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
  bus.tell(subject(options, `alive.${replica}`), JSON.stringify(beat));
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
    logger.warn('the others took this replica for dead while it was silent; it joins again');
    join(options).catch(() => {}); // whoever has ended the host says so
  }
  for (const [member, joinedMs] of fleet.replicas) if (member !== replica) takeOutIfSilent(state, member, joinedMs);
}

/** One of the remaining members appends `replica.left`; the message id is the same for all. */
function takeOutIfSilent(
  { options, beatEveryMs, heard, hearingSinceMs }: State,
  member: string,
  joinedMs: number,
): void {
  const { clock, fleet, logClock, logger, replica } = options;
  const silentMsMax = silentBeatsMax * beatEveryMs;
  const silentMs = () =>
    Math.min(
      clock() - Math.max(heard.get(member)?.atMs ?? 0, hearingSinceMs),
      logClock.since(joinedMs), // it may just have come
    );
  const isFirst = ownerFor(fleet, member, null, new Set([member])) === replica;
  if (silentMs() < silentMsMax + (isFirst ? 0 : standbyBeats * beatEveryMs)) return;
  logger.warn({ member, silentMs: silentMs() }, 'a replica is silent: it has left');
  heard.delete(member);
  void options.entries.untilFolded({
    tail: `own.fleet.${fleet.name}.replica.left`,
    data: { replica: member },
    messageId: leftMessageId(member, joinedMs),
    isNeeded: () =>
      options.lifecycle.isRunning() && fleet.replicas.get(member) === joinedMs && silentMs() >= silentMsMax,
  });
}

function onBeat(state: State, at: string, text: string): void {
  const { options, heard, instance, startedMs } = state;
  const member = at.slice(at.lastIndexOf('.') + 1);
  const beat = readBeat(text);
  if (beat === null) return;
  if (member !== options.replica) {
    // Anybody may publish anything there: what is remembered is bounded by the number of members.
    if (!options.fleet.replicas.has(member)) return;
    const headSeq = Math.max(options.progress.seq, options.log.lastSeq());
    heard.set(member, { atMs: options.clock(), seq: beat.seq, headSeq });
    return;
  }
  if (beat.instance === instance) return;
  // Two that start at the same moment do not find each other by a ping: the later one ends.
  const isLater = beat.startedMs < startedMs || (beat.startedMs === startedMs && beat.instance < instance);
  if (!isLater || options.lifecycle.lost.aborted) return;
  options.lifecycle.lose(options.lifecycle.hasStarted ? givesWay(member) : nameTaken(member));
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

/** For requests to this replica, which must end: another replica answers them. */
const givesWay = (replica: string): AppError =>
  new AppError('log.unavailable', `another replica is named '${replica}' too, and this one ends: try again`);

export const nameTaken = (replica: string): AppError =>
  new AppError(
    'replica.running',
    `a replica named '${replica}' runs already: stop that one, or name this with --replica`,
  );

/** Returns what `replica.joined` says of this replica: `rulesMax` holds a newer version back that it knows. */
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

/** To be called at the log's head, and whenever a replica came or left. */
export function upgradeRules(options: RulesOptions): void {
  const { fleet, replica, logger } = options;
  const isNeeded = () => options.lifecycle.isRunning() && fleet.rules.version < version;
  const version = rulesOfMembers(fleet);
  if (!options.lifecycle.isAtHead() || !isNeeded() || ownerFor(fleet, 'rules', null) !== replica) return;
  logger.info({ version, before: fleet.rules.version }, 'every replica knows these rules: putting them in force');
  void options.entries.untilFolded({
    tail: `own.fleet.${fleet.name}.rules.set`,
    data: { version },
    messageId: rulesMessageId(version),
    isNeeded: () => isNeeded() && rulesOfMembers(fleet) >= version,
  });
}
