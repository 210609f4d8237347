/**
 * Builds the service's report about itself on request, at most once a second. Sends a bounded number of requests to
 * NATS, and none while NATS is unreachable.
 */
import type { Fleet } from '../../machines/index.ts';
import { runnerOf } from '../host/effects/workspace-check.ts';
import type { Host } from '../host/host.ts';
import type { BoundUse, Outage, ReplicaHealth } from '../host/service-health.ts';
import type { EventLog } from '../nats/log/event-log.ts';
import type { ReadStore, StoreReport } from '../nats/log/store-report.ts';
import type { FindMissingRunners } from '../nats/missing-runners.ts';
import type { SnapshotInfo } from '../nats/snapshots/snapshot-bucket.ts';
import { runnersOf } from '../service/status.ts';
import type { PolicyLines, ReplicaLine, RunnerLine, ServiceReport, SnapshotLine } from './service-messages.ts';

export type ReportSource = {
  readonly host: Pick<Host, 'fleet' | 'logNow' | 'health'>;
  readonly log: Pick<EventLog, 'newest' | 'timeAt'>;
  readonly replica: string;
  readonly readStore: ReadStore;
  /** Newest first. */
  readonly listSnapshots: () => Promise<readonly Pick<SnapshotInfo, 'position' | 'bytes'>[]>;
  readonly findMissing: FindMissingRunners;
  /** How long a report is reused for further requests. Default: one second. */
  readonly reportKeptMs?: number | undefined;
};

const keptMsDefault = 1_000;

/** @returns a function that builds the report. It does not reject if NATS is unreachable; the report then has less. */
export function createServiceReport(source: ReportSource): () => Promise<ServiceReport> {
  const { reportKeptMs: keptMs = keptMsDefault } = source;
  const readPolicies = createPolicyReader(source);
  const readSnapshots = createSnapshotReader(source);
  let last: { readonly atMs: number; readonly report: Promise<ServiceReport> } | null = null;
  const gather = async (): Promise<ServiceReport> => {
    const { host, replica } = source;
    const { fleet } = host;
    const { outage, judgesSinceMs, replicas, server, retention, bounds } = host.health.read();
    const isReached = server.connections.every(({ isConnected }) => isConnected);
    const [store, missing, lines, policies] = await Promise.all([
      isReached ? source.readStore().catch((error: Error) => error) : new Error('the connection to NATS is broken'),
      isReached ? source.findMissing(runnersOf(fleet)) : null,
      Promise.all(replicas.map((replica) => replicaLineOf(source, replica, isReached))),
      readPolicies(isReached),
    ]);
    const known = store instanceof Error ? null : store;
    return {
      nowMs: host.logNow(),
      replica,
      replicas: lines,
      nats: server,
      retention,
      policies,
      outage: outage === null ? null : outageNews(outage),
      judgesSinceMs,
      store: known === null ? null : { streams: known.streams, account: known.account },
      storeProblem: store instanceof Error ? store.message : null,
      dead: known?.dead ?? null,
      snapshots: known === null ? null : await readSnapshots(known).catch(() => null),
      ...runnerLinesOf(fleet, missing, host.logNow()),
      limits: [...bounds, ...boundsOf(known)],
    };
  };
  return () => {
    const nowMs = performance.now();
    if (last === null || nowMs - last.atMs >= keptMs) {
      const report = gather();
      last = { atMs: nowMs, report };
      report.catch(() => {
        last = null;
      });
    }
    return last.report;
  };
}

const outageNews = ({ kind, sinceMs, judges, error }: Outage) => ({ kind, sinceMs, judges, reason: error.message });

/** Describes a replica. If it is behind, reads the age of its oldest unfolded entry from the log. */
async function replicaLineOf(
  { host, log }: ReportSource,
  { foldedSeq, behind, ...line }: ReplicaHealth,
  isReached: boolean,
): Promise<ReplicaLine> {
  const isBehind = behind !== null && behind > 0 && foldedSeq !== null;
  const oldestMs = isBehind && isReached ? await log.timeAt(foldedSeq + 1) : null;
  const behindMs = behind === 0 ? 0 : oldestMs === null ? null : Math.max(0, host.logNow() - oldestMs);
  return { ...line, foldedSeq, behind, behindMs };
}

/** Reads the entry that set the policies, and caches it by sequence. */
function createPolicyReader({ host, log }: ReportSource): (isReached: boolean) => Promise<PolicyLines> {
  let found: { readonly seq: number; readonly setBy: string | null; readonly atMs: number | null } | null = null;
  const find = async (fleet: Fleet) => {
    const subject = `stopgate.${fleet.name}.own.fleet.${fleet.name}.policy.set`;
    const [entry] = await log.newest(subject, 1, fleet.policySeq + 1).catch(() => []);
    // Retention may have removed the entry.
    if (entry?.seq !== fleet.policySeq) return null;
    return { seq: entry.seq, setBy: entry.header('Stopgate-Replica') ?? null, atMs: entry.atMs };
  };
  return async (isReached) => {
    const { fleet } = host;
    const seq = fleet.policySeq;
    if (found?.seq !== seq && seq > 0 && isReached) found = await find(fleet);
    const { setBy = null, atMs = null } = found?.seq === seq ? found : {};
    const policies = [...fleet.policies.policies].map(([name, { checks, retries }]) => ({
      name,
      retries,
      checks: checks.map((check) => check.name),
    }));
    return { seq, setBy, atMs, policies };
  };
}

/** Lists the snapshots, and again only when their store has changed. */
function createSnapshotReader({ host, listSnapshots }: ReportSource): (store: StoreReport) => Promise<SnapshotLine> {
  let listed: { readonly storeSeq: number; readonly found: Awaited<ReturnType<typeof listSnapshots>> } | null = null;
  return async ({ streams }) => {
    const storeSeq = streams.find(({ holds }) => holds === 'snapshots')?.lastSeq ?? 0;
    if (listed?.storeSeq !== storeSeq) listed = { storeSeq, found: storeSeq === 0 ? [] : await listSnapshots() };
    const [newest] = listed.found;
    return {
      kept: listed.found.length,
      newest: newest === undefined ? null : { ...newest.position, bytes: newest.bytes },
      entriesSince: host.fleet.seq - (newest?.position.seq ?? 0),
    };
  };
}

/** Maximum number of open attempts to read; more would delay the fold. `runnersOmitted` counts the others. */
const attemptsReadMax = 10_000;

type RunnerLines = Pick<ServiceReport, 'runners' | 'runnersOmitted'>;

/** @param missing runners that nobody serves, or null if unknown */
function runnerLinesOf(fleet: Fleet, missing: readonly string[] | null, nowMs: number): RunnerLines {
  const lines = new Map<string, { -readonly [Key in keyof RunnerLine]: RunnerLine[Key] }>();
  const lineFor = (kind: RunnerLine['kind'], name: string | null) => {
    const key = `${kind} ${name}`;
    const isServed =
      kind === 'service' ? true : kind === 'runner' && missing !== null ? !missing.includes(name ?? '') : null;
    const line = lines.get(key) ?? { kind, name, isServed, waiting: 0, running: 0, oldestMs: null };
    lines.set(key, line);
    return line;
  };
  lineFor('service', null);
  for (const name of runnersOf(fleet)) lineFor('runner', name);
  let read = 0;
  for (const id of fleet.open) {
    if (read === attemptsReadMax) break;
    read += 1;
    const worker = fleet.workers.read(id)?.snapshot.context.worker;
    const pending = worker?.attempt?.pending ?? null;
    if (worker === undefined || pending === null) continue;
    const line = lineFor(...runnerServing(worker, pending));
    // A remote check is requested at once and sends nothing until its answer.
    if (pending.startedMs !== null || line.kind === 'check') line.running += 1;
    else {
      line.waiting += 1;
      line.oldestMs = Math.max(line.oldestMs ?? 0, nowMs - pending.sinceMs);
    }
  }
  return { runners: [...lines.values()], runnersOmitted: fleet.open.size - read };
}

type Worker = Parameters<typeof runnerOf>[0];
type Pending = NonNullable<NonNullable<Worker['attempt']>['pending']>;

function runnerServing(worker: Worker, pending: Pending): readonly [RunnerLine['kind'], string | null] {
  if (pending.by === 'hooks') return ['check', pending.remote];
  if (pending.check.kind === 'remote') return ['check', pending.check.remote];
  const named = runnerOf(worker);
  return named !== null && 'runner' in named ? ['runner', named.runner] : ['service', null];
}

function boundsOf(store: StoreReport | null): BoundUse[] {
  if (store === null) return [];
  const { streams, account } = store;
  return [
    ...streams.flatMap(({ holds, bytes, bytesMax }) =>
      bytesMax === null ? [] : [{ bound: `bytes of the ${holds}`, used: bytes, max: bytesMax }],
    ),
    ...(account?.bytesMax == null
      ? []
      : [{ bound: 'bytes of the NATS account', used: account.bytes, max: account.bytesMax }]),
  ];
}
