/**
 * Membership: a replica joins once and is a member until it left (protocol.md §3). That it lives is heard outside of the
 * log, by a beat a second on a subject that no stream captures, so that an idle fleet writes nothing. A member that is
 * not heard for ten seconds is taken out by another, and its open attempts go to those that stay.
 */
import { leftMessageId, ownerFor, readJson } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { HostContext } from './context.ts';
import { subject } from './own-entries.ts';
import { rulesOffered } from './rules-upgrade.ts';

const beatEveryMs = 1_000;
const silentMsMax = 10_000;
/** How long the others wait for the one whose turn it is. */
const standbyMs = 2_000;
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
};

/** `seq`: the last entry that it has folded; `startedMs`: by its own clock. */
type Beat = { readonly instance: string; readonly startedMs: number; readonly seq: number };

type State = {
  readonly context: HostContext;
  readonly instance: string;
  readonly startedMs: number;
  readonly heard: Map<string, { readonly atMs: number; readonly seq: number }>;
  /** Since when this replica could hear the others and fold what they did. */
  hearingSinceMs: number;
  /** What this replica had folded at each of its last beats, the oldest first. */
  readonly foldedSeqs: number[];
  isOpen: boolean;
};

export function createMembership(context: HostContext): Membership {
  const startedMs = context.clock();
  const state: State = {
    ...{ context, instance: context.newId(), startedMs, heard: new Map(), hearingSinceMs: startedMs },
    ...{ foldedSeqs: [], isOpen: false },
  };
  let timer: NodeJS.Timeout | null = null;
  let listening: { close(): void } | null = null;
  const close = () => {
    if (timer !== null) clearInterval(timer);
    listening?.close();
    [timer, listening] = [null, null];
  };
  return {
    async join() {
      listening = context.bus.listen(subject(context, 'alive.*'), (at, text) => onBeat(state, at, text));
      beat(state);
      timer = setInterval(() => tick(state), beatEveryMs);
      await join(context);
    },
    open() {
      state.isOpen = true;
    },
    close,
    async leave() {
      close();
      const left = append(context, 'replica.left').catch(() => {});
      await Promise.race([left, new Promise((done) => setTimeout(done, leaveTimeoutMs).unref())]);
    },
    isLagging(member) {
      const heard = state.heard.get(member);
      if (heard === undefined || context.clock() - heard.atMs > lagBeatsMax * beatEveryMs) return false;
      return state.foldedSeqs.length === lagBeatsMax && heard.seq < (state.foldedSeqs[0] ?? 0);
    },
  };
}

const append = (context: HostContext, type: 'replica.joined' | 'replica.left') => {
  const { fleet, log, replica, rulesMax } = context;
  const data = type === 'replica.joined' ? { replica, rules: rulesOffered(fleet, rulesMax) } : { replica };
  return log.append(subject(context, `own.fleet.${fleet.name}.${type}`), JSON.stringify(data), { replica });
};

/** A member that was killed and is back under its name has never left; it says so if it knows other rules now. */
async function join(context: HostContext): Promise<void> {
  const { fleet, life, logger, replica } = context;
  const [, rulesMax] = rulesOffered(fleet, context.rulesMax);
  const isMember = () => fleet.replicas.has(replica) && (fleet.rulesOfReplicas.get(replica) ?? 1) === rulesMax;
  while (context.life.isRunning() && !isMember()) {
    try {
      await context.progress.until((await append(context, 'replica.joined')).seq);
    } catch (error) {
      logger.warn({ err: error }, 'replica.joined not stored, trying again');
      await new Promise((done) => setTimeout(done, retryMs));
    }
  }
  life.lost.throwIfAborted();
}

function beat({ context, instance, startedMs }: State): void {
  const { bus, progress, replica } = context;
  const beat: Beat = { instance, startedMs, seq: progress.seq };
  bus.tell(subject(context, `alive.${replica}`), JSON.stringify(beat));
}

function tick(state: State): void {
  const { context, foldedSeqs, isOpen } = state;
  const { bus, clock, fleet, logger, progress, replica } = context;
  if (bus.isConnected()) beat(state);
  if (!isOpen || !bus.isConnected() || !context.life.isAtHead()) {
    state.hearingSinceMs = clock();
    foldedSeqs.length = 0;
    return;
  }
  foldedSeqs.push(progress.seq);
  if (foldedSeqs.length > lagBeatsMax) foldedSeqs.shift();
  if (!fleet.replicas.has(replica)) {
    logger.warn('the others took this replica for dead while it was silent; it joins again');
    join(context).catch(() => {}); // whoever has ended the host says so
  }
  for (const [member, joinedMs] of fleet.replicas) if (member !== replica) takeOutIfSilent(state, member, joinedMs);
}

/** One of the remaining members appends `replica.left`; the message id is the same for all. */
function takeOutIfSilent({ context, heard, hearingSinceMs }: State, member: string, joinedMs: number): void {
  const { clock, fleet, logClock, logger, replica } = context;
  const silentMs = () =>
    Math.min(
      clock() - Math.max(heard.get(member)?.atMs ?? 0, hearingSinceMs),
      logClock.since(joinedMs), // it may just have come
    );
  const isFirst = ownerFor(fleet, member, null, new Set([member])) === replica;
  if (silentMs() < silentMsMax + (isFirst ? 0 : standbyMs)) return;
  logger.warn({ member, silentMs: silentMs() }, 'a replica is silent: it has left');
  heard.delete(member);
  void context.entries.untilFolded({
    tail: `own.fleet.${fleet.name}.replica.left`,
    data: { replica: member },
    messageId: leftMessageId(member, joinedMs),
    isNeeded: () => context.life.isRunning() && fleet.replicas.get(member) === joinedMs && silentMs() >= silentMsMax,
  });
}

function onBeat(state: State, at: string, text: string): void {
  const { context, heard, instance, startedMs } = state;
  const member = at.slice(at.lastIndexOf('.') + 1);
  const beat = readBeat(text);
  if (beat === null) return;
  if (member !== context.replica) {
    // Anybody may publish anything there: what is remembered is bounded by the number of members.
    if (context.fleet.replicas.has(member)) heard.set(member, { atMs: context.clock(), seq: beat.seq });
    return;
  }
  if (beat.instance === instance) return;
  // Two that start at the same moment do not find each other by a ping: the later one ends.
  const isLater = beat.startedMs < startedMs || (beat.startedMs === startedMs && beat.instance < instance);
  if (!isLater || context.life.lost.aborted) return;
  context.life.lose(context.life.hasStarted ? givesWay(member) : nameTaken(member));
  context.logger.error({ replica: member }, nameTaken(member).message);
  context.onBroken(true);
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
