/**
 * `stopgate serve`: opens NATS, the replicas and HTTP, follows the configuration file, and closes everything in reverse
 * order.
 */
import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import {
  type Cause,
  type Check,
  type HookRun,
  refusalCodes,
  tokensOf,
  type UsageReport,
} from '../../machines/index.ts';
import { type Config, isOneFleet } from '../config/config.ts';
import type { ConfigFile } from '../config/file.ts';
import { bounds } from '../host/intake/admission.ts';
import type { FleetDirectory } from '../http/fleet-directory.ts';
import type { FindSessionContext } from '../http/hook-routes.ts';
import { type Certificate, type HttpServer, openHttpServer } from '../http/server.ts';
import type { Logger } from '../log.ts';
import { findFleets } from '../nats/log/log-streams.ts';
import { privateInboxPrefix } from '../nats/permissions.ts';
import { findWorkerFolder } from '../runner/folder.ts';
import { createReloadingRunner, type ReloadingRunner } from '../runner/runner.ts';
import type { Service } from '../service/index.ts';
import { createMetrics, type Metrics } from '../telemetry/metrics.ts';
import type { Io } from '../terminal/process-io.ts';
import { version } from '../version.ts';
import { type AccessTokens, createAccessTokens } from './access.ts';
import { followCertificate, readCertificate } from './certificate.ts';
import { type Fleets, openFleets } from './fleets.ts';
import { connectionNames, type Link, openLink, receivedRequestsMax } from './link.ts';
import { createLiveConfig, type LiveConfig } from './live-config.ts';
import { openOtlp } from './otlp.ts';
import { createEnd, createIdleWatch, type IdleWatch, withoutSecrets } from './process-end.ts';
import { openReplica, type Replica } from './replica.ts';

export type Ready = {
  readonly ready: true;
  readonly nats: string;
  readonly http: string | null;
  /** The default fleet of requests, otherwise the first one. Null if none is served yet. */
  readonly fleet: string | null;
  /** The fleets served now, if there may be several. */
  readonly fleets?: readonly string[];
};
export type ServeOptions = {
  readonly config: Config;
  readonly nats: string;
  readonly creds: string | null;
  readonly acceptEmptyLog: boolean;
  /** The log is known to have existed, so it is not created. */
  readonly hadLog?: boolean | undefined;
  readonly streamReplicas: number | undefined;
  /** The highest rules version that the replicas announce. */
  readonly rulesMax?: number | undefined;
  readonly logger: Logger;
  readonly io: Io;
  /** Lets an operator act over HTTP when reading needs no token. */
  readonly operatorToken?: string;
  /** Called when everything listens, before the ready line. The returned text is written to stderr after that line. */
  readonly onReady?: (ready: Ready, fleets: FleetDirectory) => Promise<string>;
  /** Resolves when the embedded NATS server ends, and with it the service. */
  readonly ended?: Promise<string>;
  /** Exits after this idle time. */
  readonly idleExitMs?: number | undefined;
};

/** @returns the exit code. @throws AppError if it cannot start */
export async function serve(options: ServeOptions): Promise<number> {
  const { config, logger, io } = options;
  const certificate = readCertificate(config);
  const { interrupted, isInterrupted, untilEnd } = createEnd(io, logger);
  const idle = createIdleWatch(options.idleExitMs, `stopgate.${config.fleet}.own.fleet.`);
  const checks = createReloadingRunner(config, io.env, logger);
  const opened: { close(): unknown }[] = [checks];
  try {
    const otlp = await openOtlp(io.env, { replica: config.replica, version: version() }, logger);
    if (otlp !== null) opened.push(otlp); // closed last
    const metrics = createMetrics(checks.waiting); // after the SDK that sends them
    const link = await openLink({
      nats: options.nats,
      creds: options.creds ?? undefined,
      name: config.replica,
      version: version(),
      logger,
      inboxPrefix: hasCredentials(options) ? privateInboxPrefix : undefined,
      replyPrefixes: config.file.replyPrefixes,
      onBroken: (connection) => metrics.connectionBreaks.inc({ connection }),
      onFull: () => metrics.bounded.inc({ bound: receivedRequests }),
    });
    metrics.bounds.add('requests over NATS without an answer', receivedRequestsMax, link.requests.open);
    metrics.bounds.add('checks that wait in the service', checks.waitingMax, checks.waiting);
    // Start at zero, so that alerts see the first increase.
    for (const bound of [...bounds, receivedRequests]) metrics.bounded.inc({ bound }, 0);
    for (const connection of connectionNames) metrics.connectionBreaks.inc({ connection }, 0);
    opened.unshift(link);
    const access = createAccessTokens(config, io.env, logger);
    opened.unshift(access);
    const liveConfig = createLiveConfig({ config, checks, access, metrics, env: io.env, logger });
    const edge: { http: HttpServer | null } = { http: null };
    const fleets = await openFleets({
      selection: config.fleets,
      shard: config.shard,
      replica: config.replica,
      logger,
      isInterrupted,
      find: () => findFleets(link.logNc),
      open: (fleet, onFolding) =>
        openFleet(link, options, fleet, { metrics, checks, liveConfig, idle, onFolding, interrupted }),
      async onOpening(directory) {
        metrics.followFleets(() => directory.states());
        edge.http = await openHttp(options, directory, metrics, { liveConfig, access, certificate });
      },
    }).catch(async (error: unknown) => {
      await edge.http?.close();
      if (isInterrupted()) return null;
      throw error;
    });
    if (fleets !== null) opened.unshift(fleets);
    if (fleets === null || isInterrupted()) {
      if (edge.http !== null) opened.unshift(edge.http);
      // Close without flushing: nothing important is pending, and a slow server would delay the exit.
      await Promise.all([link.nc.close(), link.logNc.close()]);
      return await untilEnd();
    }
    for (const warning of config.warnings) logger.warn(warning);
    opened.unshift(liveConfig.follow(fleets));
    const { http } = edge;
    if (http !== null) opened.unshift(http, followCertificate(config, certificate, logger, http.renew));
    const ready = readyLine(options, http, fleets);
    const hints = (await options.onReady?.(ready, fleets.directory)) ?? '';
    io.stdout.write(`${JSON.stringify(ready)}\n`);
    if (hints !== '') io.stderr.write(hints);
    const gone = Promise.race([link.nc.closed(), link.logNc.closed()]).then(() => 'the connection is closed for good');
    const isBusy = () => fleets.directory.states().some(({ openAttempts }) => openAttempts > 0);
    const ended = options.ended === undefined ? [] : [options.ended];
    return await untilEnd(gone, fleets.broken, idle.ended(isBusy), ...ended);
  } finally {
    idle.close();
    for (const each of opened) await each.close();
  }
}

function readyLine({ nats, config }: ServeOptions, http: HttpServer | null, { directory }: Fleets): Ready {
  const fleets = directory.states().map(({ name }) => name);
  return {
    ready: true,
    nats: withoutSecrets(nats),
    http: http?.url ?? null,
    fleet: directory.default() ?? fleets[0] ?? null,
    ...(isOneFleet(config) ? {} : { fleets }),
  };
}

/** With credentials, the service uses a private inbox, since agents may subscribe to the default ones. */
const hasCredentials = ({ nats, creds }: ServeOptions): boolean => creds !== null || nats.includes('@');

type Parts = {
  readonly metrics: Metrics;
  readonly checks: ReloadingRunner;
  readonly liveConfig: LiveConfig;
  readonly idle: IdleWatch;
  readonly onFolding: (status: Service['status']) => void;
  readonly interrupted: Promise<never>;
};

async function openFleet(link: Link, options: ServeOptions, fleet: string, parts: Parts): Promise<Replica> {
  const { metrics, checks, liveConfig, idle, onFolding, interrupted } = parts;
  const { acceptEmptyLog, hadLog, streamReplicas, rulesMax } = options;
  const atStart = liveConfig.current();
  const replica = await openReplica(link, {
    onFolding,
    interrupted,
    fleet,
    acceptEmptyLog,
    hadLog,
    rulesMax,
    ...atStart,
    runCheck: checks.run,
    logger: options.logger.child({ fleet }),
    metrics: countersOf(metrics, fleet, idle.noteEntry),
    ...(streamReplicas === undefined ? {} : { streamReplicas }),
  });
  // The file may have changed while the log was folded.
  const { policies, escalation } = liveConfig.current();
  if (policies !== null && policies !== atStart.policies) replica.setPolicies(policies);
  if (escalation !== atStart.escalation) replica.setEscalation(escalation);
  return replica;
}

type Edge = {
  readonly liveConfig: LiveConfig;
  readonly access: AccessTokens;
  readonly certificate: Certificate | null;
};

async function openHttp(
  options: ServeOptions,
  directory: FleetDirectory,
  metrics: Metrics,
  { liveConfig, access, certificate }: Edge,
): Promise<HttpServer | null> {
  const { operatorToken = null, logger: log } = options;
  const { http, token, publicUrl } = options.config;
  if (http === null) return null;
  return openHttpServer({
    fleets: directory,
    version: version(),
    host: http.host,
    port: http.port,
    token,
    operatorToken,
    tokens: access.current,
    publicUrl,
    metrics,
    log,
    certificate,
    answerLinks: () => liveConfig.current().answerLinks,
    findSessionContext: createFindSessionContext(options.config.filePath, () => liveConfig.current().file),
  });
}

const rareCauses: readonly Cause[] = ['unjudged', 'capped', 'budget'];

/** Starts the counters of alerts at 0: Prometheus sees no increase in a series whose first value is 1. */
function startAtZero({ decisions, deadLetters, policyConflicts }: Metrics, fleet: string): void {
  for (const cause of rareCauses) decisions.inc({ fleet, decision: 'allow', cause }, 0);
  for (const code of refusalCodes) deadLetters.inc({ fleet, code }, 0);
  policyConflicts.inc({ fleet }, 0);
}

const receivedRequests = 'received requests';

function countersOf(metrics: Metrics, fleet: string, noteEntry: (subject: string) => void) {
  startAtZero(metrics, fleet);
  const folded = metrics.entriesFolded.one({ fleet });
  const decided = memoizeByPair((decision, cause) => metrics.decisions.one({ fleet, decision, cause }));
  const decisionSeconds = metrics.decisionSeconds.of({ fleet });
  const answered = memoizeByPair((verb, status) => metrics.requests.one({ fleet, verb, status }));
  return {
    folded: (subject: string) => {
      folded();
      noteEntry(subject);
    },
    decided: ({ decision, cause, tookMs }: { decision: string; cause: string; tookMs: number }) => {
      decided(decision, cause)();
      decisionSeconds(tookMs / 1_000);
    },
    refused: () => metrics.refused.inc({ fleet }),
    dead: (code: string) => metrics.deadLetters.inc({ fleet, code }),
    used: (report: UsageReport) => {
      const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0, usd = 0, model } = report;
      metrics.used(fleet, model, { tokens: tokensOf(report), usd, input: input + cacheRead + cacheWrite, output });
    },
    hookRan: ({ type, action, failed, tookMs }: HookRun) => {
      metrics.hookAnswers.inc({ fleet, type, action });
      if (failed) metrics.hookErrors.inc({ fleet, type });
      if (tookMs > 0) metrics.hookSeconds.of({ fleet, type })(tookMs / 1_000);
    },
    policyConflict: () => metrics.policyConflicts.inc({ fleet }),
    bounded: (bound: string) => metrics.bounded.inc({ bound }),
    answered: (verb: string, status: number) => {
      answered(verb, String(status))();
      noteEntry(verb);
    },
  };
}

/** Memoizes `make` for pairs of names, of which there are few. */
function memoizeByPair<Made>(make: (first: string, second: string) => Made): (first: string, second: string) => Made {
  const made = new Map<string, Map<string, Made>>();
  return (first, second) => {
    const known = made.get(first)?.get(second);
    if (known !== undefined) return known;
    const added = make(first, second);
    made.set(first, (made.get(first) ?? new Map<string, Made>()).set(second, added));
    return added;
  };
}

/**
 * Describes how a session of an agent would be judged: the service and its user, the policy, and whether its checks can
 * read the session's folder.
 * @param current returns the configuration file in force
 */
function createFindSessionContext(filePath: string, current: () => ConfigFile): FindSessionContext {
  const folder = dirname(filePath);
  return async (service, { agent, policy, cwd }) => {
    const { roots, commands } = current();
    const { name, checks, runners } = service.sessionPolicy(agent, policy);
    const found = await findWorkerFolder(cwd, { roots, baseDir: folder });
    const looks = (check: Check) =>
      check.kind === 'files' ||
      check.kind === 'git' ||
      (check.kind === 'command' && (commands[check.command]?.cwd ?? 'worker') === 'worker');
    return {
      fleet: service.fleet,
      replica: service.replica,
      user: userInfo().username,
      file: filePath,
      folderFault: 'reason' in found ? found.reason : null,
      isElsewhere: 'reason' in found && cwd !== null && existsSync(cwd),
      policy: {
        name,
        checks: checks.length,
        looksIntoFolder: checks.filter(looks).map((check) => check.name),
        runners,
      },
    };
  };
}
