/** Serves one fleet until it is told to end: NATS, replica, configuration file, HTTP; closed in reverse order. */
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { HookOpinion } from '../machines/index.ts';
import type { Io } from './cli/io.ts';
import { type Config, doubtSecret, readSecret } from './config.ts';
import { type ConfigFile, describePosition, readConfigFile } from './config-file.ts';
import { watchConfigFile } from './config-watch.ts';
import type { EscalationRules } from './host/notices.ts';
import { openHttpServer } from './http/server.ts';
import { createLogger, type Logger } from './log.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { openReplica, type Replica } from './replica.ts';
import { createRunner, type Runner } from './runner/index.ts';
import { createWebhook } from './webhook.ts';

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
  readonly inboxPrefix?: string;
  readonly acceptEmptyLog: boolean;
  readonly streamReplicas: number | undefined;
  readonly logger: Logger;
  readonly io: Io;
  /** Told once everything listens, after the ready line. */
  readonly onReady?: (ready: Ready) => void;
  /** Fires where what this stands on ends by itself. */
  readonly ended?: Promise<string>;
};

const version = readVersion();

/** @returns the exit code. @throws AppError where it cannot start */
export async function serve(options: ServeOptions): Promise<number> {
  const { config, logger, io } = options;
  const interrupted = aborted(io.interrupt());
  const metrics = createMetrics();
  const checks = createChecks(config, io.env, logger);
  const readRules = (file: ConfigFile) => escalationRules(file.escalation, io.env, metrics, logger);
  const opened: { close(): unknown }[] = [checks];
  try {
    const replica = await openReplica({
      ...{
        nats: options.nats,
        creds: options.creds ?? undefined,
        inboxPrefix: options.inboxPrefix,
        fleet: config.fleet,
        name: config.replica,
        version,
      },
      ...{ logger, policies: config.file.policyForm, runCheck: checks.run, replyPrefixes: config.file.replyPrefixes },
      ...{ acceptEmptyLog: options.acceptEmptyLog, metrics: countersOf(metrics) },
      escalation: readRules(config.file),
      ...(options.streamReplicas === undefined ? {} : { streamReplicas: options.streamReplicas }),
    });
    opened.unshift(replica);
    for (const warning of config.warnings) logger.warn(warning);
    opened.unshift(followConfigFile({ config, replica, checks, readRules, env: io.env, logger }));
    const http = await openHttp(config, replica, metrics, logger);
    if (http !== null) opened.unshift(http);
    const ready: Ready = {
      ready: true,
      nats: withoutSecrets(options.nats),
      http: http?.url ?? null,
      fleet: config.fleet,
    };
    io.stdout.write(`${JSON.stringify(ready)}\n`);
    options.onReady?.(ready);
    const gone = replica.closed.then(() => 'it can serve no more');
    const why = await Promise.race([interrupted, gone, ...(options.ended === undefined ? [] : [options.ended])]);
    logger.info({ why }, 'stopping');
    return why === interruption ? 0 : 3;
  } finally {
    for (const each of opened) await each.close();
  }
}

const interruption = 'interrupted';
const aborted = (signal: AbortSignal) =>
  new Promise<string>((done) => {
    if (signal.aborted) done(interruption);
    signal.addEventListener('abort', () => done(interruption), { once: true });
  });

type Checks = Runner & { configure(file: ConfigFile): void };

/** The runner inside the service; a new configuration makes a new one, and lets the old one finish. */
function createChecks(config: Config, env: Io['env'], logger: Logger): Checks {
  const create = ({ roots, commands, escalation }: ConfigFile): Runner => {
    // What a command runs was often written by the agent, who is not to sign webhooks.
    const secretEnv = escalation?.webhook?.secretEnv ?? null;
    const theirs = secretEnv === null ? env : { ...env, [secretEnv]: undefined };
    return createRunner({ roots, commands, baseDir: dirname(config.filePath), env: theirs, log: logger });
  };
  let runner = create(config.file);
  const old = new Set<Runner>();
  return {
    run: (request, signal) => runner.run(request, signal),
    configure(file) {
      old.add(runner);
      runner = create(file);
    },
    close: async () => void (await Promise.all([runner, ...old].map((each) => each.close()))),
  };
}

type Following = {
  readonly config: Config;
  readonly replica: Replica;
  readonly checks: Checks;
  readonly readRules: (file: ConfigFile) => EscalationRules;
  readonly env: Io['env'];
  readonly logger: Logger;
};

/** A changed file is in force at once; a broken or vanished one keeps what was, and says so. */
function followConfigFile({ config, replica, checks, readRules, env, logger }: Following): { close(): void } {
  let hadPolicies = config.file.policyForm !== null;
  let escalation = JSON.stringify(config.file.escalation);
  const onChange = (text: string | null) => {
    if (text === null) {
      logger.warn({ file: config.filePath }, 'the configuration has gone: the old policies stay in force');
      return;
    }
    const read = readConfigFile(text, config.filePath);
    if (!read.ok) {
      const problems = read.problems.map((it) => `${describePosition(it, config.filePath)}: ${it.message}`);
      logger.error({ problems }, 'the configuration is broken: the old policies stay in force');
      return;
    }
    for (const warning of [...read.warnings, ...doubtSecret(read, config.filePath, env)]) logger.warn(warning);
    checks.configure(read.file);
    // A file that never had policies has no say in them; one that has them no more takes them back.
    if (read.file.policyForm !== null || hadPolicies) replica.setPolicies(read.file.policyForm ?? { policies: {} });
    hadPolicies = read.file.policyForm !== null;
    // One that is just being delivered is not begun anew for a change elsewhere.
    if (escalation !== JSON.stringify(read.file.escalation)) replica.setEscalation(readRules(read.file));
    escalation = JSON.stringify(read.file.escalation);
    logger.info({ file: config.filePath }, 'the configuration has changed');
  };
  return watchConfigFile(config.filePath, onChange, undefined, config.fileText);
}

function escalationRules(
  escalation: ConfigFile['escalation'],
  env: Io['env'],
  metrics: Metrics,
  logger: Logger,
): EscalationRules {
  const { remindMs = null, webhook = null } = escalation ?? {};
  if (webhook === null) return { remindMs, notify: null };
  const { url, secretEnv } = webhook;
  const secret = secretEnv === null ? null : (readSecret(secretEnv, env) ?? null);
  const count = (outcome: string) => metrics.webhooks.inc({ outcome });
  return { remindMs, notify: createWebhook({ url, secret, clock: Date.now, logger, count }) };
}

async function openHttp({ http, token }: Config, { service }: Replica, metrics: Metrics, log: Logger) {
  if (http === null) return null;
  return openHttpServer({ service, host: http.host, port: http.port, token, metrics, log });
}

function countersOf(metrics: Metrics) {
  return {
    folded: () => metrics.entriesFolded.inc(),
    decided: ({ decision, cause, tookMs }: { decision: string; cause: string; tookMs: number }) => {
      metrics.decisions.inc({ decision, cause });
      metrics.decisionSeconds.observe(tookMs / 1_000);
    },
    refused: () => metrics.refused.inc(),
    dead: (code: string) => metrics.deadLetters.inc({ code }),
    hookSaid: ({ type, action, failed, tookMs }: HookOpinion) => {
      metrics.hookAnswers.inc({ type, action });
      if (failed) metrics.hookErrors.inc({ type });
      if (tookMs > 0) metrics.hookSeconds.observe({ type }, tookMs / 1_000);
    },
    policyConflict: () => metrics.policyConflicts.inc(),
    answered: (verb: string, status: number) => metrics.requests.inc({ verb, status: String(status) }),
  };
}

/** The ready line is printed and kept: a password in the URL is nobody's business there. */
const withoutSecrets = (nats: string): string => nats.replace(/\/\/[^@/]*@/g, '//');

function readVersion(): string {
  // dist/src/serve.js and src/serve.ts are not equally deep below package.json.
  for (const up of ['../package.json', '../../package.json']) {
    try {
      return (JSON.parse(readFileSync(new URL(up, import.meta.url), 'utf8')) as { version: string }).version;
    } catch {
      // the other one
    }
  }
  return '0.0.0';
}

export const loggerFor = (config: Config): Logger => createLogger(config.logLevel);
