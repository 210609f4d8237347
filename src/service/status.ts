/** status: whether this replica can answer, and how much it holds. missingRunners: the runners that nobody serves. */
import type { Fleet } from '../../machines/index.ts';
import type { ErrorCode } from '../errors.ts';
import type { Host } from '../host/host.ts';
import type { FindMissingRunners } from '../nats/missing-runners.ts';

export type ServiceStatus = {
  /** If false, requests get a 503 and `reason` says why. */
  readonly ready: boolean;
  readonly reason: string | null;
  /** `log.lost` needs a person; `log.unavailable` may pass. */
  readonly code: ErrorCode | null;
  readonly foldedSeq: number;
  /** Number of entries that are known to be in the log but not folded yet. */
  readonly lag: number;
  readonly workers: number;
  readonly openAttempts: number;
  /** Workers with an overdue request, and unattended queues (protocol.md §8). */
  readonly neglected: number;
  /** The used share of the capacity for workers and tasks, from 0 to 1. */
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

/** Returns the runners that policies name but nobody serves, sorted. */
export async function missingRunners(host: Host, search: FindMissingRunners): Promise<readonly string[]> {
  return (await search(runnersOf(host.fleet))) ?? [];
}

/** Returns all runners that policies name, sorted. */
export function runnersOf({ policies }: Pick<Fleet, 'policies'>): readonly string[] {
  const names = [...policies.policies.values()].flatMap(({ runner, runners }) =>
    runner === null ? runners : [runner],
  );
  return [...new Set(names)].sort();
}
