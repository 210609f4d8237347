/** Folds one message of the log, into the live fleet or into one rebuilt from history. */
import {
  createSubjectReader,
  type DecisionKey,
  decisionSchema,
  type Entry,
  type Fleet,
  type FoldStep,
  foldDecision,
  foldEntry,
  isId,
  isOtherDecision,
  type Refusal,
  readEntry,
  readJson,
} from '../../../machines/index.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';

const decoder = new TextDecoder();
const readAddress = createSubjectReader();

/**
 * `read` is null for the service's own output (decisions), which changes nothing if this fold has made the same
 * decision. A `Refusal` changes nothing either.
 */
export type Folded = FoldStep & { readonly read: Entry | Refusal | null };

const unchanged: FoldStep = Object.freeze({ outcomes: Object.freeze([]), touched: new Set<string>() });

/** Returns this replica's decision if the entry has exactly its bytes, so that the entry need not be parsed. */
export type FindOwnDecision = (message: LogMessage) => DecisionKey | null;

export function foldMessage(fleet: Fleet, message: LogMessage, findOwn: FindOwnDecision = () => null): Folded {
  if (message.subject.startsWith(`stopgate.${fleet.name}.decision.`))
    return folded(null, foldStoredDecision(fleet, message, findOwn));
  const text = decoder.decode(message.data);
  const entry = readEntry(message.subject, text, message.data.length, readAddress);
  if (entry === null) return folded(null, unchanged);
  if (!('data' in entry)) return folded(entry, unchanged);
  const isOwned = entry.type === 'stop.attempted' || entry.type === 'iteration.validated';
  const named = isOwned ? (message.header('Stopgate-Replica') ?? null) : null;
  const owner = named !== null && isId(named) ? named : null;
  return folded(entry, foldEntry(fleet, { seq: message.seq, atMs: message.atMs, entry, owner }));
}

const folded = (read: Folded['read'], { outcomes, touched }: FoldStep): Folded => ({ read, outcomes, touched });

function foldStoredDecision(fleet: Fleet, message: LogMessage, findOwn: FindOwnDecision): FoldStep {
  const { subject } = message;
  const own = findOwn(message);
  if (own !== null && !isOtherDecision(fleet, own)) return unchanged;
  const json = readJson(decoder.decode(message.data));
  if (!json.ok) return unchanged;
  const key = json.value as DecisionKey;
  // Nearly always equal to the decision made here, which needs no further validation.
  if (subject !== `stopgate.${fleet.name}.decision.${key.worker}` || !isOtherDecision(fleet, key)) return unchanged;
  const decision = decisionSchema.safeParse(json.value);
  return decision.success ? foldDecision(fleet, decision.data) : unchanged;
}
