/** Replica: one running copy of the service for one fleet. Wires log, host, service and requests on a connection. */
import type { Fleet, RulesVersion } from '../../machines/index.ts';
import type { PolicyForm, RetentionRules } from '../config/file.ts';
import type { EscalationRules } from '../host/effects/notices.ts';
import type { RunCheck } from '../host/effects/workspace-check.ts';
import { createHost, type Host } from '../host/host.ts';
import { isHostState, type SnapshotSchedule } from '../host/maintenance/snapshot-taker.ts';
import type { HostMetrics, HostOptions } from '../host/parts.ts';
import { createInspection, type Inspection } from '../inspector/index.ts';
import type { Logger } from '../log.ts';
import { newId } from '../nats/id.ts';
import { openEventLog } from '../nats/log/event-log.ts';
import { createLogTrimmer } from '../nats/log/log-trimmer.ts';
import { createStoreReader } from '../nats/log/store-report.ts';
import { createFindMissingRunners } from '../nats/missing-runners.ts';
import type { OnAnswer } from '../nats/request-server.ts';
import type { FoldStart } from '../nats/snapshots/find-start.ts';
import { createSnapshots } from '../nats/snapshots/snapshots.ts';
import { createEndpoints } from '../service/endpoints.ts';
import { createService, type Service } from '../service/index.ts';
import { snapshotEndpoint } from '../service/snapshot.ts';
import { createForwardClock } from '../timer.ts';
import { type Link, openRequestsMax } from './link.ts';

export type ReplicaOptions = {
  readonly fleet: string;
  /** Null to leave the log's policies unchanged. */
  readonly policies: PolicyForm | null;
  /** Default: one notice per escalation, in the service's own log. */
  readonly escalation?: EscalationRules;
  /** Default: the log is never trimmed. */
  readonly retention?: RetentionRules;
  readonly runCheck: RunCheck;
  readonly logger: Logger;
  readonly metrics: HostMetrics & { readonly answered: OnAnswer };
  readonly acceptEmptyLog?: boolean;
  /** The log is known to have existed, so it is not created. */
  readonly hadLog?: boolean | undefined;
  /** Number of stream replicas for a new log. Default: three if the cluster has enough nodes, otherwise one. */
  readonly streamReplicas?: number;
  /** When to take snapshots. Default: the schedule of protocol.md §15. */
  readonly snapshotSchedule?: SnapshotSchedule;
  /** Versions of the rules that this replica knows. Default: those of this release. */
  readonly rules?: readonly RulesVersion[];
  /** The highest rules version that this replica announces. Default: the highest it knows. */
  readonly rulesMax?: number | undefined;
  /** Interval of the heartbeat. Default: 1,000. Tests use a shorter one. */
  readonly beatEveryMs?: number | undefined;
  /** Maximum number of open requests; more get a 503. Default: 10,000. */
  readonly openRequestsMax?: number;
  /** How long a report about the service is cached. Default: 1,000. */
  readonly reportKeptMs?: number;
  /** Rejects to abort the start. */
  readonly interrupted?: Promise<never>;
  /** Called before the log is folded. `status` returns the progress. */
  readonly onFolding?: (status: Service['status']) => void;
};

export type Replica = {
  /** The folded state. Only the fold changes it. */
  readonly fleet: Fleet;
  readonly service: Service;
  readonly inspection: Inspection;
  setPolicies(form: PolicyForm): void;
  setEscalation(rules: EscalationRules): void;
  setRetention(rules: RetentionRules): void;
  /** Resolves when this replica must end: to true if another replica has its name, to false if the fold failed. */
  readonly broken: Promise<boolean>;
  /** Leaves the fleet. Answers requests that are decided in the meantime. The connection stays open. */
  close(): Promise<void>;
};

/**
 * An attempt that the log does not deliver within this time gets a 503. Shorter than the timeout of common NATS
 * clients.
 */
const entryTimeoutMs = 1_500;
/** Maximum number of open reads, and separately of open probes and verifications, which wait for checks. */
const openReadsMax = 1_000;

/** @throws AppError log.unavailable, log.lost, stream.foreign or input.unauthorized */
export async function openReplica(link: Link, options: ReplicaOptions): Promise<Replica> {
  const { logger, metrics, acceptEmptyLog = false, hadLog, streamReplicas: replicas = null } = options;
  const { fleet } = options;
  const snapshots = createSnapshots(link.logNc, fleet, logger);
  const findCoveredTo = snapshots.coveredTo;
  let start: FoldStart | null | undefined;
  const hasStart = async () => {
    start = await snapshots.findStart(options.rules, isHostState);
    return start !== null;
  };
  const opening = openEventLog({
    nc: link.logNc,
    fleet,
    replicas,
    acceptEmptyLog,
    hadLog,
    log: logger,
    findCoveredTo,
    hasStart,
  });
  const aborted = [link.forbidden, ...(options.interrupted === undefined ? [] : [options.interrupted])];
  const log = await Promise.race([opening, ...aborted]);
  if (start === undefined) start = await snapshots.findStart(options.rules, isHostState);
  if (start !== null) logger.info({ seq: start.position.seq }, 'the fold continues from a snapshot');
  const { host, broken } = makeHost(
    link,
    {
      log,
      start,
      snapshotStore: snapshots.store,
      usableSnapshots: snapshots.usable,
      trimmer: createLogTrimmer(link.logNc, fleet),
    },
    options,
  );
  const findMissing = createFindMissingRunners(link.nc, fleet);
  const service = createService(host, log, link.name, findMissing);
  options.onFolding?.(service.status);
  await Promise.race([host.start(), ...aborted]).catch(async (error: unknown) => {
    await host.close();
    throw error;
  });
  const inspection = createInspection(host, log, logger, {
    reportKeptMs: options.reportKeptMs,
    history: link.source,
    replica: link.name,
    findMissing,
    readStore: createStoreReader(link.logNc, fleet),
    listSnapshots: snapshots.store.list,
  });
  const requests = link.requests.serve(
    [...createEndpoints(service, host), snapshotEndpoint(fleet, host.takeSnapshot)],
    metrics.answered,
  );
  // From then on, the other replicas answer.
  void broken.then(() => requests.close());
  await link.nc.flush();
  return {
    fleet: host.fleet,
    service,
    inspection,
    setPolicies: host.setPolicies,
    setEscalation: host.setEscalation,
    setRetention: host.setRetention,
    broken,
    async close() {
      const ended = inspection.close();
      requests.close();
      await host.close();
      await ended;
    },
  };
}

type Stored = Pick<HostOptions, 'log' | 'start' | 'snapshotStore' | 'usableSnapshots' | 'trimmer'>;

function makeHost(link: Link, stored: Stored, options: ReplicaOptions): { host: Host; broken: Replica['broken'] } {
  const { fleet, runCheck, logger, metrics, policies, escalation, rules, rulesMax, snapshotSchedule } = options;
  let onBroken = (_isNameTaken: boolean) => {};
  const broken = new Promise<boolean>((done) => {
    onBroken = done;
  });
  const host = createHost({
    fleet,
    replica: link.name,
    bus: link.bus,
    ...stored,
    runCheck,
    logger,
    metrics,
    newId,
    entryTimeoutMs,
    onBroken,
    clock: createForwardClock(),
    rules,
    rulesMax,
    openReadsMax,
    snapshotSchedule,
    openRequestsMax: options.openRequestsMax ?? openRequestsMax,
    beatEveryMs: options.beatEveryMs,
  });
  if (policies !== null) host.setPolicies(policies);
  if (escalation !== undefined) host.setEscalation(escalation);
  if (options.retention !== undefined) host.setRetention(options.retention);
  return { host, broken };
}
