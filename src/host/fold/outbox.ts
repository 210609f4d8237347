/**
 * Outbox: decisions on their way out, to the log as a `decision` entry and to the inboxes that the attempt named. A
 * message stays here until its decision entry comes back from the log. The owner of the attempt sends it. A replica
 * that finds the owner gone sends it instead, and the message id makes a repeat one entry. If an agent has used that id
 * for an entry of its own, the decision goes out under another one. A worker that was forgotten may come again with an
 * attempt that it had: that one's decision goes out once the earlier one is stored, so that the log ends with it.
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
  /** The message of a later attempt with the same id. */
  next: OutboxMessage | null;
  messageId: string;
  /** 0: not sent by this replica. */
  sentMs: number;
  /** Sequence number of its entry, if an acknowledgement has told it; else 0. */
  storedSeq: number;
};

export type OutboxState = readonly Pick<OutboxMessage, 'decision' | 'owner' | 'inboxes' | 'messageId'>[];

export type Outbox = {
  /** `everyone`: no check was needed, so every replica may answer the inboxes; the answers are equal. */
  put(decision: Decision, owner: string | null, inboxes: readonly string[], everyone: boolean): void;
  /** The decision entry came back from the log. */
  onPublished(worker: string, attempt: string): void;
  find(worker: string, attempt: string): Decision | null;
  /** To be called before another decision is asked for. @throws AppError service.busy: too many wait here already */
  throwIfFull(): void;
  /** How many wait here. */
  unconfirmed(): { readonly bound: string; readonly used: number; readonly max: number };
  /** The decision that this replica sent as exactly this entry, or null. */
  findMade(entry: LogMessage): Decision | null;
  /** The messages that are on their way now, for a snapshot. */
  capture(): OutboxState;
  restore(state: OutboxState): void;
  /** The log's head is reached: sends what has no decision entry yet. */
  open(): void;
  /** Other replicas whose messages have been here for `ageMs`. */
  overdueOwners(ageMs: number): Set<string | null>;
  /** Sends what this owner leaves, where `isMine` says so of its `attemptMessageId`. */
  sendFor(owner: string | null, isMine: (key: string) => boolean): void;
  /** Sends again what the log has not delivered. To be called twice a second. */
  resend(): void;
  /** Sends what waits for more to be sent with it. */
  flush(): void;
};

/**
 * A fold that is behind gets its own decision entries as late as all others. Each of the decisions takes 2 to 3 KB, so
 * these are some 80 MB. Attempts that agents publish into the log themselves cannot be refused.
 */
const owedMaxDefault = 32_768;
const resendMs = 2_000;
/**
 * In one call. When the fold is seconds behind, all that was sent looks lost: to send all of it again each time would keep
 * the fold from ever catching up. The acknowledgements of so many tell which of them are stored already.
 */
const resendMax = 256;
/**
 * Decision entries are sent in batches, after the answers: one write, one delivery and few turns of the server carry all
 * of a batch. The protocol gives them 50 ms (protocol.md §5).
 */
const batching = { delayMs: 5, itemsMax: 64 };

export type OutboxOptions = {
  readonly fleet: Pick<Fleet, 'name'>;
  readonly replica: string;
  readonly lifecycle: Pick<Lifecycle, 'isAtHead'>;
  readonly log: Pick<EventLog, 'send' | 'submit'>;
  readonly progress: Pick<FoldProgress, 'seq' | 'until'>;
  readonly bus: Pick<Bus, 'answer' | 'isConnected'>;
  readonly clock: () => number;
  readonly newId: () => string;
  readonly logger: Logger;
  /** Default: `owedMaxDefault`. */
  readonly unconfirmedDecisionsMax?: number | undefined;
};

export function createOutbox(options: OutboxOptions): Outbox {
  const messages: Messages = new Map();
  const isWaiting = (message: OutboxMessage) => messages.get(keyOf(message.decision)) === message;
  const isOurs = ({ owner }: OutboxMessage) => owner === null || owner === options.replica;

  const batch = createBatch<OutboxMessage>((due) => {
    // Behind the head another decision may stand in the log by now, and after a loss it is another log. What is still
    // owed is sent at the head again.
    if (!options.lifecycle.isAtHead()) return;
    for (const message of due) {
      // A replica that comes back after a silence may fold an attempt and another's decision of it in one turn. One that
      // stands behind an earlier one is sent when that is stored.
      if (isWaiting(message)) options.log.send(...entryOf(options, message));
    }
  }, batching);
  const send = (message: OutboxMessage) => {
    message.sentMs = options.clock();
    message.storedSeq = 0;
    batch.add(message);
  };
  // An agent that has used the message id keeps the entry out of the log, and only an acknowledgement tells. The first
  // try asks for none, since nearly every decision comes back from the log.
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
  const sendAll = (isMeant: (message: OutboxMessage) => boolean) => {
    for (const message of [...messages.values()].flatMap(withLater).filter(isMeant)) {
      answerInboxes(options, message);
      send(message);
    }
  };

  return {
    put(decision, owner, inboxes, everyone) {
      const message = unsent(options, { decision, owner, inboxes, messageId: messageIdOf(decision) });
      add(messages, message);
      if (!options.lifecycle.isAtHead()) return;
      if (everyone || isOurs(message)) answerInboxes(options, message);
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
      max: options.unconfirmedDecisionsMax ?? owedMaxDefault,
    }),
    findMade: (entry) => findMade(messages, entry),
    capture: () => [...messages.values()].flatMap(withLater).map(stateOf),
    restore(state) {
      for (const it of state) add(messages, unsent(options, it));
    },
    open: () => sendAll(isOurs),
    overdueOwners(ageMs) {
      const before = options.clock() - ageMs;
      const overdue = [...messages.values()].filter((it) => it.sinceMs <= before && !isOurs(it));
      return new Set(overdue.map(({ owner }) => owner));
    },
    sendFor: (owner, isMine) =>
      sendAll((it) => it.owner === owner && isOverdue(options, it) && isMine(keyOf(it.decision))),
    resend() {
      if (!options.bus.isConnected()) return;
      const late = [...messages.values()].filter((it) => it.sentMs > 0 && isOverdue(options, it));
      for (const message of late.slice(0, resendMax)) sendAgain(message);
    },
    flush: batch.flush,
  };
}

/** Field by field: V8 (Node 20) makes a hidden class for each object that a spread begins and new fields follow. */
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

/** By attempt: the message that is sent first; later ones follow in `next`. */
type Messages = Map<string, OutboxMessage>;

function add(messages: Messages, message: OutboxMessage): void {
  const key = keyOf(message.decision);
  const earlier = withLater(messages.get(key)).findLast(({ decision }) => decision.seq !== message.decision.seq);
  if (earlier === undefined) messages.set(key, message);
  else earlier.next = message;
}

/** @returns the one that is to be sent now */
function removeFirst(messages: Messages, key: string): OutboxMessage | null {
  const next = messages.get(key)?.next ?? null;
  if (next === null) messages.delete(key);
  else messages.set(key, next);
  return next;
}

const withLater = (first: OutboxMessage | null | undefined): OutboxMessage[] =>
  first ? [first, ...withLater(first.next)] : [];

function throwIfFull(owed: number, owedMax = owedMaxDefault): void {
  if (owed < owedMax) return;
  const why = `the log has yet to deliver ${owed} decisions to this replica, which does not keep up`;
  throw new AppError('service.busy', why);
}

/** Not overdue while the fold has yet to reach its entry. */
const isOverdue = ({ clock, progress }: OutboxOptions, { sentMs, storedSeq }: OutboxMessage): boolean =>
  sentMs < clock() - resendMs && storedSeq <= progress.seq;

function findMade(messages: ReadonlyMap<string, OutboxMessage>, entry: LogMessage): Decision | null {
  const { worker, attempt } = aboutDecision(entry);
  const message = attempt === null ? undefined : messages.get(attemptMessageId(worker, attempt));
  if (message === undefined || message.sentMs === 0) return null;
  return Buffer.compare(encodeDecision(message.decision), entry.data) === 0 ? message.decision : null;
}

function aboutDecision({ subject: at, header }: LogMessage) {
  const worker = at.slice(at.lastIndexOf('.') + 1);
  return { worker, attempt: parseDecisionMessageId(worker, header('Nats-Msg-Id') ?? '') };
}

const messageIdOf = ({ worker, attempt }: Decision) => decisionMessageId(worker, attempt);
const keyOf = ({ worker, attempt }: Decision) => attemptMessageId(worker, attempt as string);

function answerInboxes({ bus, logger }: OutboxOptions, { decision, inboxes }: OutboxMessage): void {
  for (const inbox of inboxes)
    if (!bus.answer(inbox, encodeDecision(decision)))
      logger.warn({ workerId: decision.worker, inbox }, 'answer withheld: the reply subject is not an inbox');
}

const entryOf = (options: OutboxOptions, { decision, messageId }: OutboxMessage) =>
  [subject(options, `decision.${decision.worker}`), encodeDecision(decision), { messageId }] as const;

/** Collects items and hands them on together: the first waits for others, for `delayMs` at most. */
export type Batch<Item> = {
  add(item: Item): void;
  /** Hands on the waiting items at once. */
  flush(): void;
};

export type BatchOptions = {
  readonly delayMs: number;
  /** With this many items the batch is full, and handed on at the end of the turn. */
  readonly itemsMax: number;
};

function createBatch<Item>(handOn: (items: Item[]) => void, { delayMs, itemsMax }: BatchOptions): Batch<Item> {
  const items: Item[] = [];
  let timer: NodeJS.Timeout | null = null;
  const flush = () => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (items.length > 0) handOn(items.splice(0));
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
