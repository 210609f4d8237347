/** status: can this replica answer, and how much does it hold? */
import type { ErrorCode } from '../errors.ts';
import type { Host } from '../host/host.ts';

export type ServiceStatus = {
  /** False: requests get 503, `reason` says why. */
  readonly ready: boolean;
  readonly reason: string | null;
  /** `log.lost` needs a person; `log.unavailable` may pass. */
  readonly code: ErrorCode | null;
  readonly foldedSeq: number;
  /** How many entries of the log are not folded yet, as far as this replica has heard of it. */
  readonly lag: number;
  readonly workers: number;
  readonly openAttempts: number;
  /** How much is kept of workers and tasks: 1 is all that may be. */
  readonly stateShare: number;
};

export function statusOf(host: Host): ServiceStatus {
  const fault = host.fault();
  return {
    ready: fault === null,
    reason: fault?.message ?? null,
    code: fault?.code ?? null,
    foldedSeq: host.foldedSeq(),
    lag: host.lastSeq() - host.foldedSeq(),
    workers: host.fleet.workers.size,
    openAttempts: host.fleet.open.size,
    stateShare: host.fleet.stateSize / host.fleet.stateSizeMax,
  };
}
