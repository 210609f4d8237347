/** status: can this replica answer, and how much does it hold? And missingRunners: which runners does nobody serve? */
import type { Fleet } from '../../machines/index.ts';
import type { ErrorCode } from '../errors.ts';
import type { Host } from '../host/host.ts';
import type { RunnerSearch } from '../nats/bus.ts';

export type ServiceStatus = {
  /** False: requests get 503, `reason` says why. */
  readonly ready: boolean;
  readonly reason: string | null;
  /** `log.lost` needs a person; `log.unavailable` may pass. */
  readonly code: ErrorCode | null;
  readonly foldedSeq: number;
  /** The number of entries of the log that are not folded yet, as far as this replica has heard of it. */
  readonly lag: number;
  readonly workers: number;
  readonly openAttempts: number;
  /** Workers with an overdue request, and unattended queues (protocol.md §8). */
  readonly neglected: number;
  /** The share of the room for workers and tasks that is used: 1 is all. */
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
    neglected: host.fleet.neglected.size,
    stateShare: host.fleet.stateSize / host.fleet.stateSizeMax,
  };
}

/** The runners that policies name and nobody serves, sorted. */
export async function missingRunners(host: Host, search: RunnerSearch): Promise<readonly string[]> {
  return (await search(runnersOf(host.fleet))) ?? [];
}

/** All runners that policies name, sorted. */
export function runnersOf({ policies }: Pick<Fleet, 'policies'>): readonly string[] {
  const names = [...policies.policies.values()].flatMap(({ runner, runners }) =>
    runner === null ? runners : [runner],
  );
  return [...new Set(names)].sort();
}
