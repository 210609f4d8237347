/**
 * The outbox sends each decision to the log, as a `decision` entry, and to the inboxes that its attempt named. A
 * message stays here until its entry comes back from the log. The owner of the attempt sends it. If the owner is gone,
 * another replica does; NATS drops duplicates by message id. If an agent has used that id for an entry of its own, the
 * decision is sent under another id. A forgotten worker may return and reuse an attempt id. The later decision is sent
 * after the earlier one is stored, so that the log ends with it.
 */
import {
  attemptMessageId,
  type Decision,
  decisionMessageId,
  type Fleet,
  parseDecisionMessageId,
  retriedMessageId,
} from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Bus } from '../../nats/bus.ts';
import type { EventLog } from '../../nats/log/event-log.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';
import type { Lifecycle } from '../lifecycle.ts';
import { subject } from '../own-entries.ts';
import { encodeDecision } from './decision-bytes.ts';
import type { FoldProgress } from './fold-progress.ts';

type OutboxMessage = {
  readonly decision: Decision;
  readonly owner: string | null;
  readonly inboxes: readonly string[];
  sinceMs: number;
  /** The decision of a later attempt with the same id. */
  next: OutboxMessage | null;
  messageId: string;
  /** 0 if this replica has not sent it. */
  sentMs: number;
  /** Sequence number of its entry according to the acknowledgement; 0 before that. */
  storedSeq: number;
};

export type OutboxState = readonly Pick<OutboxMessage, 'decision' | 'owner' | 'inboxes' | 'messageId'>[];

export type Outbox = {
  /**
   * @param isEverywhere whether the decision needed no check, so that every replica has it and may answer the inboxes
   *   with the same bytes
   */
  put(decision: Decision, owner: string | null, inboxes: readonly string[], isEverywhere: boolean): void;
  /** Called when the decision entry comes back from the log. */
  onPublished(worker: string, attempt: string): void;
  find(worker: string, attempt: string): Decision | null;
  /** Call before accepting another attempt. @throws AppError service.busy if too many decisions are unconfirmed */
  throwIfFull(): void;
  /** The number of decisions whose entry has not come back. */
  unconfirmed(): { readonly bound: string; readonly used: number; readonly max: number };
  /** Returns the decision that this replica sent with exactly the bytes of this entry, or null. */
  findOwn(entry: LogMessage): Decision | null;
  /** Returns the unconfirmed messages, for a snapshot. */
  capture(): OutboxState;
  restore(state: OutboxState): void;
  /** Called at the log's head: sends every decision that has no entry yet. */
  open(): void;
  /** Returns the other replicas whose messages have been here for `ageMs` or longer. */
  overdueOwners(ageMs: number): Set<string | null>;
  /** Sends the overdue messages of an owner that is gone, if `isMine` accepts their `attemptMessageId`. */
  sendFor(owner: string | null, isMine: (key: string) => boolean): void;
  /** Sends again what the log has not delivered. Call twice a second. */
  resend(): void;
  /** Sends the current batch at once. */
  flush(): void;
};

/**
 * A fold that lags receives its own decision entries as late as all others. At 2 to 3 KB per decision this is about 80
 * MB. The limit does not apply to attempts that agents publish into the log directly, which cannot be refused.
 */
const unconfirmedMaxDefault = 32_768;
const resendMs = 2_000;
/**
 * Maximum per call. When the fold is seconds behind, every message looks lost, and resending all of them would keep the
 * fold from catching up. The acknowledgements show which of these are stored already.
 */
const resendMax = 256;
/**
 * Decision entries are sent in batches, after the answers, to save writes and wake-ups of the server. The protocol
 * allows 50 ms (protocol.md §5).
 */
const batching = { delayMs: 5, itemsMax: 64 };

export type OutboxOptions = {
  readonly fleet: Pick<Fleet, 'name'>;
  readonly replica: string;
  readonly lifecycle: Pick<Lifecycle, 'isAtHead'>;
  readonly log: Pick<EventLog, 'send' | 'submit'>;
  readonly progress: Pick<FoldProgress, 'seq' | 'until'>;
  readonly bus: Pick<Bus, 'reply' | 'isConnected'>;
  readonly clock: () => number;
  readonly newId: () => string;
  readonly logger: Logger;
  /** Default: `unconfirmedMaxDefault`. */
  readonly unconfirmedDecisionsMax?: number | undefined;
};

export function createOutbox(options: OutboxOptions): Outbox {
  const messages: Messages = new Map();
  const isWaiting = (message: OutboxMessage) => messages.get(keyOf(message.decision)) === message;
  const isOurs = ({ owner }: OutboxMessage) => owner === null || owner === options.replica;

  const batch = createBatch<OutboxMessage>((due) => {
    // Behind the head, the log may contain another decision by now, and after a loss it is another log. `open` sends
    // whatever is still unconfirmed.
    if (!options.lifecycle.isAtHead()) return;
    for (const message of due) {
      // Skip it if its entry came back in this turn, as after a pause, or if it must wait for an earlier decision.
      if (isWaiting(message)) options.log.send(...entryOf(options, message));
    }
  }, batching);
  const send = (message: OutboxMessage) => {
    message.sentMs = options.clock();
    message.storedSeq = 0;
    batch.add(message);
  };
  // Only an acknowledgement shows that an agent has used our message id, which keeps the entry out of the log. The
  // first try does without one, since nearly every decision comes back from the log.
  const sendAgain = (message: OutboxMessage) => {
    message.sentMs = options.clock();
    options.log.submit(...entryOf(options, message), (answer) => {
      if (answer instanceof AppError) return;
      message.storedSeq = answer.seq;
      if (answer.duplicate) void renameIfTaken(message, answer.seq);
    });
  };
  const renameIfTaken = async (message: OutboxMessage, seq: number) => {
    await options.progress.until(seq);
    if (!isWaiting(message)) return;
    message.messageId = retriedMessageId(messageIdOf(message.decision), options.newId());
    sendAgain(message);
  };
  const sendAll = (isIncluded: (message: OutboxMessage) => boolean) => {
    for (const message of [...messages.values()].flatMap(withLater).filter(isIncluded)) {
      answerInboxes(options, message);
      send(message);
    }
  };

  return {
    put(decision, owner, inboxes, isEverywhere) {
      const message = unsent(options, { decision, owner, inboxes, messageId: messageIdOf(decision) });
      add(messages, message);
      if (!options.lifecycle.isAtHead()) return;
      if (isEverywhere || isOurs(message)) answerInboxes(options, message);
      if (isOurs(message)) send(message);
    },
    onPublished(worker, attempt) {
      const next = removeFirst(messages, attemptMessageId(worker, attempt));
      if (next === null) return;
      next.sinceMs = options.clock();
      if (options.lifecycle.isAtHead() && isOurs(next)) send(next);
    },
    find: (worker, attempt) => withLater(messages.get(attemptMessageId(worker, attempt))).at(-1)?.decision ?? null,
    throwIfFull: () => throwIfFull(messages.size, options.unconfirmedDecisionsMax),
    unconfirmed: () => ({
      bound: 'decisions that the log has not delivered',
      used: messages.size,
      max: options.unconfirmedDecisionsMax ?? unconfirmedMaxDefault,
    }),
    findOwn: (entry) => findOwn(messages, entry),
    capture: () => [...messages.values()].flatMap(withLater).map(stateOf),
    restore(state) {
      for (const captured of state) add(messages, unsent(options, captured));
    },
    open: () => sendAll(isOurs),
    overdueOwners(ageMs) {
      const before = options.clock() - ageMs;
      const overdue = [...messages.values()].filter((message) => message.sinceMs <= before && !isOurs(message));
      return new Set(overdue.map(({ owner }) => owner));
    },
    sendFor: (owner, isMine) =>
      sendAll((message) => message.owner === owner && isOverdue(options, message) && isMine(keyOf(message.decision))),
    resend() {
      if (!options.bus.isConnected()) return;
      const late = [...messages.values()].filter((message) => message.sentMs > 0 && isOverdue(options, message));
      for (const message of late.slice(0, resendMax)) sendAgain(message);
    },
    flush: batch.flush,
  };
}

/** Without a spread: V8 (Node 20) creates a hidden class for each object that starts with one and adds fields. */
const unsent = (
  { clock }: OutboxOptions,
  { decision, owner, inboxes, messageId }: OutboxState[number],
): OutboxMessage => ({
  decision,
  owner,
  inboxes,
  messageId,
  sinceMs: clock(),
  next: null,
  sentMs: 0,
  storedSeq: 0,
});

const stateOf = ({ decision, owner, inboxes, messageId }: OutboxMessage) => ({ decision, owner, inboxes, messageId });

/** By attempt: the message to send first. Later ones follow in `next`. */
type Messages = Map<string, OutboxMessage>;

function add(messages: Messages, message: OutboxMessage): void {
  const key = keyOf(message.decision);
  const earlier = withLater(messages.get(key)).findLast(({ decision }) => decision.seq !== message.decision.seq);
  if (earlier === undefined) messages.set(key, message);
  else earlier.next = message;
}

/** @returns the message to send now, or null */
function removeFirst(messages: Messages, key: string): OutboxMessage | null {
  const next = messages.get(key)?.next ?? null;
  if (next === null) messages.delete(key);
  else messages.set(key, next);
  return next;
}

const withLater = (first: OutboxMessage | null | undefined): OutboxMessage[] =>
  first ? [first, ...withLater(first.next)] : [];

function throwIfFull(unconfirmed: number, max = unconfirmedMaxDefault): void {
  if (unconfirmed < max) return;
  const why = `the log has yet to deliver ${unconfirmed} decisions to this replica, which does not keep up`;
  throw new AppError('service.busy', why);
}

/** A message whose entry is stored but not folded yet is not overdue. */
const isOverdue = ({ clock, progress }: OutboxOptions, { sentMs, storedSeq }: OutboxMessage): boolean =>
  sentMs < clock() - resendMs && storedSeq <= progress.seq;

function findOwn(messages: ReadonlyMap<string, OutboxMessage>, entry: LogMessage): Decision | null {
  const { worker, attempt } = readDecisionAddress(entry);
  const message = attempt === null ? undefined : messages.get(attemptMessageId(worker, attempt));
  if (message === undefined || message.sentMs === 0) return null;
  return Buffer.compare(encodeDecision(message.decision), entry.data) === 0 ? message.decision : null;
}

/** Returns the worker and the attempt of a `decision` entry. `attempt` is null if the message id names none. */
function readDecisionAddress(entry: LogMessage) {
  const worker = entry.subject.slice(entry.subject.lastIndexOf('.') + 1);
  return { worker, attempt: parseDecisionMessageId(worker, entry.header('Nats-Msg-Id') ?? '') };
}

const messageIdOf = ({ worker, attempt }: Decision) => decisionMessageId(worker, attempt);
const keyOf = ({ worker, attempt }: Decision) => attemptMessageId(worker, attempt as string);

function answerInboxes({ bus, logger }: OutboxOptions, { decision, inboxes }: OutboxMessage): void {
  for (const inbox of inboxes)
    if (!bus.reply(inbox, encodeDecision(decision)))
      logger.warn({ workerId: decision.worker, inbox }, 'answer withheld: the reply subject is not an inbox');
}

const entryOf = (options: OutboxOptions, { decision, messageId }: OutboxMessage) =>
  [subject(options, `decision.${decision.worker}`), encodeDecision(decision), { messageId }] as const;

/** Collects items and hands them over together. The first item waits for others, for at most `delayMs`. */
export type Batch<Item> = {
  add(item: Item): void;
  /** Hands over the collected items at once. */
  flush(): void;
};

export type BatchOptions = {
  readonly delayMs: number;
  /** A batch with this many items is full, and handed over at the end of the turn. */
  readonly itemsMax: number;
};

function createBatch<Item>(handOver: (items: Item[]) => void, { delayMs, itemsMax }: BatchOptions): Batch<Item> {
  const items: Item[] = [];
  let timer: NodeJS.Timeout | null = null;
  const flush = () => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (items.length > 0) handOver(items.splice(0));
  };
  return {
    add(item) {
      items.push(item);
      timer ??= setTimeout(flush, delayMs);
      if (items.length === itemsMax) setImmediate(flush);
    },
    flush,
  };
}
