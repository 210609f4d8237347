/** Publishes entries asynchronously. One inbox per connection receives all acknowledgements. */
import { headers, type Msg, type MsgHdrs, type NatsConnection } from '@nats-io/nats-core';
import { AppError } from '../../errors.ts';
import type { TraceHeaders } from '../../telemetry/tracing.ts';
import { newInbox, subscribe } from '../connection.ts';
import { reachabilityOf } from '../reachability.ts';

export type EntryHeaders = {
  readonly messageId?: string | undefined;
  readonly replica?: string | undefined;
  readonly trace?: TraceHeaders;
};
export type Stored = { readonly seq: number; readonly duplicate: boolean };
export type OnStored = (answer: AppError | Stored) => void;

export type Submit = (subject: string, payload: string | Uint8Array, given: EntryHeaders, onAnswer: OnStored) => void;

/** The server's publish acknowledgement (ADR-1). */
type Ack = { seq?: number; duplicate?: boolean; error?: { err_code?: number; description?: string } };

/** Timeout since the last acknowledgement of any entry. While others arrive, ours is just queued. */
const ackTimeoutMs = 1_500;
/** Timeout of one entry while acknowledgements of others keep arriving. */
const slowestMs = 10_000;
const sweepEveryMs = 250;
/** JetStream error code: the message exceeds `max_msg_size`. */
const messageTooLarge = 10_054;

/** Returns the connection's submitter. All logs of a connection share one inbox and one timeout sweep. */
export function submitterOf(nc: NatsConnection): Submitter {
  const found = submitters.get(nc);
  if (found !== undefined) return found;
  const made = createSubmitter(nc);
  submitters.set(nc, made);
  return made;
}

/** `findLoss` says why the stream is missing, or returns null. Called if a publish has no responder. */
type Submitter = (...args: [...Parameters<Submit>, findLoss: () => Promise<AppError | null>]) => void;
type Waiting = {
  readonly onAnswer: OnStored;
  readonly sentMs: number;
  readonly findLoss: () => Promise<AppError | null>;
};

const submitters = new WeakMap<NatsConnection, Submitter>();

function createSubmitter(nc: NatsConnection): Submitter {
  const inbox = newInbox(nc);
  const { isConnected } = reachabilityOf(nc);
  const open = new Map<string, Waiting>();
  let count = 0;
  let answeredMs = 0;
  const answer = (token: string, given: AppError | Stored) => {
    const waiting = open.get(token);
    open.delete(token);
    waiting?.onAnswer(given);
  };
  subscribe(nc, `${inbox}.*`, (error, message) => {
    if (error !== null) return;
    const token = message.subject.slice(inbox.length + 1);
    const waiting = open.get(token);
    answeredMs = performance.now();
    if (waiting === undefined) return;
    if (isNoResponder(message))
      void waiting.findLoss().then((loss) => answer(token, loss ?? refused('no stream stores its subject')));
    else answer(token, readAck(message));
  });
  // The map is in publish order, so the first entry that is not overdue ends the sweep.
  const sweep = () => {
    const now = performance.now();
    for (const [token, { sentMs }] of open) {
      if (now - sentMs < (now - answeredMs < ackTimeoutMs ? slowestMs : ackTimeoutMs)) return;
      answer(token, refused('no acknowledgement in time'));
    }
  };
  // setImmediate: a busy process first reads the acknowledgements that have already arrived.
  const timer = setInterval(() => setImmediate(sweep), sweepEveryMs);
  timer.unref();
  void nc.closed().then(() => clearInterval(timer));
  return (subject, payload, given, onAnswer, findLoss) => {
    if (!isConnected()) {
      onAnswer(refused('the connection to NATS is broken'));
      return;
    }
    count += 1;
    const token = count.toString(36);
    open.set(token, { onAnswer, sentMs: performance.now(), findLoss });
    try {
      nc.publish(subject, payload, { reply: `${inbox}.${token}`, headers: toHeaders(given) });
    } catch (cause) {
      answer(token, refused((cause as Error).message));
    }
  };
}

/** @throws Error if a value contains a line break, which could inject headers */
export function toHeaders({ messageId, replica, trace }: EntryHeaders): MsgHdrs {
  const h = headers();
  if (messageId !== undefined) h.set('Nats-Msg-Id', messageId);
  if (replica !== undefined) h.set('Stopgate-Replica', replica);
  for (const [name, value] of Object.entries(trace ?? {})) h.set(name, value);
  return h;
}

function readAck(message: Msg): AppError | Stored {
  const { seq = 0, duplicate = false, error } = message.json<Ack>();
  if (error === undefined) return { seq, duplicate };
  if (error.err_code === messageTooLarge)
    return new AppError('entry.large', 'the entry is larger than the log accepts');
  return refused(`${error.description ?? 'refused'} (${error.err_code ?? 0})`);
}

/** No responder: the stream or JetStream itself is missing. */
const isNoResponder = (message: Msg) => message.data.length === 0 && message.headers?.code === 503;
const refused = (why: string) => new AppError('log.unavailable', `the log did not accept the entry: ${why}`);
