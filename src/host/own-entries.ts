/** Stores entries of the host's own: it retries until the log has them, and each is stored once. */
import { AppError } from '../errors.ts';
import { type HostContext, subject } from './context.ts';

/** `tail`: the subject after `stopgate.<fleet>.`; the message id makes a repeat one entry. */
export type OwnEntry = {
  readonly tail: string;
  readonly data: object;
  readonly messageId: string;
  /** Called before each try; false ends them. */
  readonly isNeeded: () => boolean;
  readonly onRefused?: (error: AppError) => void;
};

const retryMs = 300;

/** `duplicate`: the log had an entry with that message id before. */
export async function appendUntilStored(
  context: HostContext,
  { tail, data, messageId, isNeeded, onRefused }: OwnEntry,
): Promise<{ duplicate: boolean }> {
  const payload = JSON.stringify(data);
  while (isNeeded()) {
    try {
      return await context.log.append(subject(context, tail), payload, { messageId, replica: context.replica });
    } catch (error) {
      if (error instanceof AppError) onRefused?.(error);
      context.logger.warn({ err: error, tail }, 'entry not stored, trying again');
      await new Promise((done) => setTimeout(done, retryMs));
    }
  }
  return { duplicate: false };
}

/** How long an entry of the same id, stored by another replica, may take to be folded here. */
const deliveryMs = 1_000;

/**
 * As `appendUntilStored`, for an entry that the fold makes unneeded. Agents choose their message ids freely: if one has
 * used ours for something else, the entry is stored under another id.
 */
export async function appendUntilFolded(context: HostContext, entry: OwnEntry): Promise<void> {
  for (let { messageId } = entry; entry.isNeeded(); messageId += ':again') {
    const { duplicate } = await appendUntilStored(context, { ...entry, messageId });
    if (!duplicate) return;
    await new Promise((done) => setTimeout(done, deliveryMs));
  }
}
