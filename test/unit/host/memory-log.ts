/** An event log in memory. Like a stream, it delivers a stored entry in the next turn. */
import type { EventLog } from '../../../src/nats/log/event-log.ts';
import type { LogMessage } from '../../../src/nats/log/log-reader.ts';

export type MemoryLog = EventLog & {
  /** Subject and payload of each entry, in order. */
  readonly entries: readonly { readonly subject: string; readonly payload: string }[];
  /** Replaces the entry at `seq`. */
  replace(seq: number, payload: string): void;
  /** Removes the entries before `seq`. */
  cutBefore(seq: number): void;
  /** Changes the timestamp of the newest entry. */
  setHeadTime(atMs: number): void;
  /** If false, nothing is delivered. */
  isRead(): boolean;
};

export function createMemoryLog(): MemoryLog {
  const entries: { subject: string; payload: string; messageId: string | undefined }[] = [];
  let headMs: number | null = null;
  let firstSeq = 1;
  const at = (seq: number) => (seq < firstSeq ? undefined : entries[seq - 1]);
  let deliver: ((message: LogMessage) => void) | null = null;
  const store = (subject: string, given: string | Uint8Array, headers: { messageId?: string | undefined }) => {
    const payload = Buffer.from(given).toString();
    const known = entries.findIndex(({ messageId }) => messageId !== undefined && messageId === headers.messageId);
    if (known >= 0) return { seq: known + 1, duplicate: true };
    const seq = entries.push({ subject, payload, messageId: headers.messageId });
    const values: Record<string, string | undefined> = {
      'Nats-Msg-Id': headers.messageId,
      'Stopgate-Replica': 'replica' in headers ? (headers.replica as string) : undefined,
    };
    const data = new TextEncoder().encode(payload);
    setImmediate(() => deliver?.({ seq, atMs: seq * 1_000, subject, data, header: (name) => values[name] }));
    return { seq, duplicate: false };
  };
  return {
    entries,
    replace(seq, payload) {
      const entry = entries[seq - 1];
      if (entry !== undefined) entry.payload = payload;
    },
    cutBefore(seq) {
      firstSeq = seq;
    },
    setHeadTime(atMs) {
      headMs = atMs;
    },
    isRead: () => deliver !== null,
    seqAt: async (ms) => Math.max(firstSeq, Math.ceil(ms / 1_000)),
    timeAt: async (seq) => (at(seq) === undefined ? null : 1_000 * seq),
    subjectAt: async (seq) => at(seq)?.subject ?? null,
    deadSeq: 0,
    isNoted: true,
    append: async (...entry) => store(...entry),
    submit: (subject, payload, headers, onAnswer) => onAnswer(store(subject, payload, headers)),
    send: (...entry) => void store(...entry),
    read({ onMessage }) {
      deliver = onMessage;
      return {
        close() {
          deliver = null;
        },
      };
    },
    range: async () => ({ firstSeq, lastSeq: entries.length, firstMs: 0, lastMs: 0 }),
    history: async () => {},
    newest: async () => [],
    fetch: async (seq, subject) => (at(seq)?.subject === subject ? (at(seq)?.payload ?? null) : null),
    head: async () => ({ seq: entries.length, atMs: headMs ?? entries.length * 1_000 }),
    lastSeq: () => entries.length,
    note: async () => {},
  };
}
