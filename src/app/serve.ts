/** Serves one fleet until it is told to end: NATS, replica, configuration file, HTTP; closed in reverse order. */
import type { HookRun } from '../../machines/index.ts';
import { type Config, missingSecret } from '../config/config.ts';
import type { ConfigFile } from '../config/file.ts';
import { followConfigFile } from '../config/follow.ts';
import type { EscalationRules } from '../host/notice.ts';
import { openHttpServer } from '../http/server.ts';
import type { Logger } from '../log.ts';
import { createMetrics, type Metrics } from '../metrics.ts';
import { privateInbox } from '../nats/permissions.ts';
import { escalationRules } from '../notify/escalation-rules.ts';
import type { Io } from '../process-io.ts';
import { createReloadingRunner, type ReloadingRunner } from '../runner/reloading-runner.ts';
import { version } from '../version.ts';
import { createIdleWatch } from './idle-exit.ts';
import { createEnd, withoutSecrets } from './process-end.ts';
import { openReplica, type Replica } from './replica.ts';

export type Ready = {
  readonly ready: true;
  readonly nats: string;
  readonly http: string | null;
  readonly fleet: string;
};
export type ServeOptions = {
  readonly config: Config;
  readonly nats: string;
  readonly creds: string | null;
  readonly acceptEmptyLog: boolean;
  readonly streamReplicas: number | undefined;
  readonly logger: Logger;
  readonly io: Io;
  /** Lets an operator act over HTTP when reading needs no token. */
  readonly operatorToken?: string;
  /** Called once everything listens, after the ready line. */
  readonly onReady?: (ready: Ready) => void;
  /** Resolves if what this depends on ends by itself. */
  readonly ended?: Promise<string>;
  /** Exits after being idle for this long. */
  readonly idleExitMs?: number | undefined;
};

/** @returns the exit code. @throws AppError if it cannot start */
export async function serve(options: ServeOptions): Promise<number> {
  const { config, logger, io } = options;
  const untilEnd = createEnd(io, logger);
  const idle = createIdleWatch(options.idleExitMs, `stopgate.${config.fleet}.own.fleet.`);
  const checks = createReloadingRunner(config, io.env, logger);
  const metrics = createMetrics(checks.waiting);
  const readRules = (file: ConfigFile) => escalationRules(file.escalation, io.env, metrics, logger);
  const opened: { close(): unknown }[] = [checks];
  try {
    const replica = await openReplica({
      ...{
        nats: options.nats,
        creds: options.creds ?? undefined,
        inboxPrefix: hasCredentials(options) ? privateInbox : undefined,
        fleet: config.fleet,
        name: config.replica,
        version: version(),
      },
      ...{ logger, policies: config.file.policyForm, runCheck: checks.run, replyPrefixes: config.file.replyPrefixes },
      ...{ acceptEmptyLog: options.acceptEmptyLog, metrics: countersOf(metrics, idle.noteEntry) },
      escalation: readRules(config.file),
      ...(options.streamReplicas === undefined ? {} : { streamReplicas: options.streamReplicas }),
    });
    opened.unshift(replica);
    for (const warning of config.warnings) logger.warn(warning);
    opened.unshift(followFile({ config, replica, checks, readRules, env: io.env, logger }));
    const http = await openHttp(options, replica, metrics);
    if (http !== null) opened.unshift(http);
    const ready: Ready = {
      ready: true,
      nats: withoutSecrets(options.nats),
      http: http?.url ?? null,
      fleet: config.fleet,
    };
    io.stdout.write(`${JSON.stringify(ready)}\n`);
    options.onReady?.(ready);
    const gone = replica.closed.then(() => 'it cannot serve any longer');
    const isBusy = () => replica.service.status().openAttempts > 0;
    const ended = options.ended === undefined ? [] : [options.ended];
    return await untilEnd(gone, idle.ended(isBusy), ...ended);
  } finally {
    idle.close();
    for (const each of opened) await each.close();
  }
}

/** With roles, agents may hear the usual inboxes, and the service's own answers are not for them. */
const hasCredentials = ({ nats, creds }: ServeOptions): boolean => creds !== null || nats.includes('@');

type Following = {
  readonly config: Config;
  readonly replica: Replica;
  readonly checks: ReloadingRunner;
  readonly readRules: (file: ConfigFile) => EscalationRules;
  readonly env: Io['env'];
  readonly logger: Logger;
};

function followFile({ config, replica, checks, readRules, env, logger }: Following): { close(): void } {
  let hadPolicies = config.file.policyForm !== null;
  let escalation = JSON.stringify(config.file.escalation);
  return followConfigFile(config, logger, (read) => {
    const { file } = read;
    for (const warning of missingSecret({ ...read, path: config.filePath }, env)) logger.warn(warning);
    checks.configure(file);
    // A file that never had policies does not change them; one that drops its policies withdraws them.
    if (file.policyForm !== null || hadPolicies) replica.setPolicies(file.policyForm ?? { policies: {} });
    hadPolicies = file.policyForm !== null;
    // A delivery in progress is not restarted because of a change elsewhere.
    if (escalation !== JSON.stringify(file.escalation)) replica.setEscalation(readRules(file));
    escalation = JSON.stringify(file.escalation);
  });
}

async function openHttp(options: ServeOptions, { service, inspection }: Replica, metrics: Metrics) {
  const { operatorToken = null, logger: log } = options;
  const { http, token } = options.config;
  if (http === null) return null;
  return openHttpServer({
    ...{ service, inspection, version: version(), host: http.host, port: http.port },
    ...{ token, operatorToken, metrics, log },
  });
}

function countersOf(metrics: Metrics, noteEntry: (subject: string) => void) {
  return {
    folded: (subject: string) => {
      metrics.entriesFolded.inc();
      noteEntry(subject);
    },
    decided: ({ decision, cause, tookMs }: { decision: string; cause: string; tookMs: number }) => {
      metrics.decisions.inc({ decision, cause });
      metrics.decisionSeconds.observe(tookMs / 1_000);
    },
    refused: () => metrics.refused.inc(),
    dead: (code: string) => metrics.deadLetters.inc({ code }),
    hookRan: ({ type, action, failed, tookMs }: HookRun) => {
      metrics.hookAnswers.inc({ type, action });
      if (failed) metrics.hookErrors.inc({ type });
      if (tookMs > 0) metrics.hookSeconds.observe({ type }, tookMs / 1_000);
    },
    policyConflict: () => metrics.policyConflicts.inc(),
    answered: (verb: string, status: number) => {
      metrics.requests.inc({ verb, status: String(status) });
      noteEntry(verb);
    },
  };
}
