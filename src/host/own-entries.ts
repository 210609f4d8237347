/** Stores entries of the host's own: it retries until the log has them, and each is stored once. */
import { retriedMessageId } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Stored } from '../nats/log-submitter.ts';
import { type HostContext, isAtHead, subject } from './context.ts';

/** `tail`: the subject after `stopgate.<fleet>.`; the message id makes a repeat one entry. */
export type OwnEntry = {
  readonly tail: string;
  readonly data: object;
  readonly messageId: string;
  /** Called before each try; false ends the tries. */
  readonly isNeeded: () => boolean;
  readonly onRefused?: (error: AppError) => void;
};

const retryMs = 300;

/** `duplicate`: the log had an entry with that message id before, at `seq`. Null: it was not needed any more. */
export async function appendUntilStored(
  context: HostContext,
  { tail, data, messageId, isNeeded, onRefused }: OwnEntry,
): Promise<Stored | null> {
  const payload = JSON.stringify(data);
  while (isNeeded()) {
    // What it follows from may be out of date.
    if (!isAtHead(context)) {
      await new Promise((done) => setTimeout(done, retryMs));
      continue;
    }
    try {
      return await context.log.append(subject(context, tail), payload, { messageId, replica: context.replica });
    } catch (error) {
      if (error instanceof AppError) onRefused?.(error);
      context.logger.warn({ err: error, tail }, 'entry not stored, trying again');
      await new Promise((done) => setTimeout(done, retryMs));
    }
  }
  return null;
}

/**
 * As `appendUntilStored`, for an entry that the fold makes unneeded. Agents choose their message ids freely: if ours is
 * still needed when the entry that has its id is folded, that one was an agent's. Then it is stored under an id that
 * nobody can foresee.
 */
export async function appendUntilFolded(context: HostContext, entry: OwnEntry): Promise<void> {
  for (let { messageId } = entry; ; messageId = retriedMessageId(entry.messageId, context.newId())) {
    const stored = await appendUntilStored(context, { ...entry, messageId });
    if (stored === null || !stored.duplicate) return;
    await context.progress.until(stored.seq);
  }
}
