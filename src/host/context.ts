/** What the parts of a host share: the fold and the ways to the world, handed in. */
import type { Decision, Fleet, HookOpinion } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Bus } from '../nats/bus.ts';
import type { EventLog } from '../nats/event-log.ts';

export type HostMetrics = {
  folded(subject: string): void;
  decided(decision: Decision): void;
  refused(type: string): void;
  dead(code: string): void;
  policyConflict(): void;
  hookSaid(opinion: HookOpinion): void;
};

export type HostContext = {
  readonly fleet: Fleet;
  readonly replica: string;
  readonly log: EventLog;
  readonly bus: Bus;
  readonly logger: Logger;
  readonly metrics: HostMetrics;
  /** This machine's clock, milliseconds since 1970. */
  readonly clock: () => number;
  /** The log's time by this machine's clock: what a deadline is compared with. */
  readonly logNow: () => number;
  /** False while what is folded is history: then nothing goes out. */
  readonly atHead: () => boolean;
};

/** `stopgate.<fleet>.<tail>` */
export const subject = (context: HostContext, tail: string): string => `stopgate.${context.fleet.name}.${tail}`;

const encoded = new WeakMap<Decision, string>();

/** A decision as JSON. It goes out up to three times, and is written once. */
export function encodeDecision(decision: Decision): string {
  const known = encoded.get(decision);
  if (known !== undefined) return known;
  const text = JSON.stringify(decision);
  encoded.set(decision, text);
  return text;
}

const retryMs = 300;

/**
 * Stores an entry of our own, again and again until the log has it or nobody needs it any more. The message id makes
 * a repeat one entry; `duplicate`: the log has had one of that id before.
 */
export async function appendUntilStored(
  context: HostContext,
  tail: string,
  data: object,
  messageId: string,
  isNeeded: () => boolean,
  onRefused: (error: AppError) => void = () => {},
): Promise<{ duplicate: boolean }> {
  const payload = JSON.stringify(data);
  while (isNeeded()) {
    try {
      return await context.log.append(subject(context, tail), payload, { messageId, replica: context.replica });
    } catch (error) {
      if (error instanceof AppError) onRefused(error);
      context.logger.warn({ err: error, tail }, 'entry not stored, trying again');
      await new Promise((done) => setTimeout(done, retryMs));
    }
  }
  return { duplicate: false };
}
