/**
 * Sends traces, metrics and events (`logs`) to an OpenTelemetry collector, if the standard variables name one. Only
 * then is the SDK loaded: its packages are optional dependencies. The SDK reads the other `OTEL_*` variables, except
 * the timeouts, so that nothing waits long for a collector.
 */
import { context, type DiagLogger, diag, metrics, propagation, trace } from '@opentelemetry/api';
import { logs } from '@opentelemetry/api-logs';
import { type Environment, readVariable } from '../config/environment.ts';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';

/** Timeout of one batch, including retries. The exit of the process waits for the last batch. */
const sendTimeoutMs = 2_000;
/** The default of the OpenTelemetry specification for `OTEL_METRIC_EXPORT_INTERVAL`. */
const exportIntervalMs = 60_000;

/** Maximum series per metric. The SDK's default of 2,000 is too small: 5 causes of dead letters times 401 fleets. */
const seriesMax = 20_000;

/** `service.instance.id` and `service.version`. */
type About = { readonly replica: string; readonly version: string };
type Signal = 'traces' | 'metrics' | 'logs';
/** `shutdown` sends what is pending and stops. */
type Sender = { shutdown(): Promise<void>; disable(): void };

export type Otlp = { close(): Promise<void> };

/**
 * Returns null if no collector is configured.
 * @throws AppError config.bad if the SDK is not installed or a variable is invalid
 */
export async function openOtlp(env: Environment, about: About, logger: Logger): Promise<Otlp | null> {
  const senders = new Map<Signal, Sender>();
  const end = async ([signal, sender]: [Signal, Sender]) => {
    await sender.shutdown().catch((err: unknown) => logger.warn({ err }, `the last ${signal} were not sent`));
    sender.disable();
  };
  const close = async () => void (await Promise.all([...senders].map(end)));
  diag.setLogger(diagLogger(logger));
  try {
    for (const signal of ['traces', 'metrics', 'logs'] as const) {
      const url = collectorUrl(signal, env);
      if (url === null) continue;
      warnOfOtherFormats(signal, env, logger);
      const sender = await openers[signal](url, env, about, logger);
      if (sender === null) continue;
      senders.set(signal, sender);
      logger.info({ collector: new URL(url).origin }, `${signal} are sent`);
    }
  } catch (error) {
    await close();
    throw error;
  } finally {
    diag.disable();
  }
  return senders.size === 0 ? null : { close };
}

const openers = {
  async traces(url: string, env: Environment, about: About, logger: Logger): Promise<Sender> {
    const packages = ['@opentelemetry/sdk-trace-node', '@opentelemetry/exporter-trace-otlp-http'];
    const [resource, [sdk, exporter]] = await installed('traces', packages, async () => [
      await resourceOf(env, about),
      await Promise.all([import('@opentelemetry/sdk-trace-node'), import('@opentelemetry/exporter-trace-otlp-http')]),
    ]);
    const traceExporter = new exporter.OTLPTraceExporter({ url, timeoutMillis: sendTimeoutMs });
    reportArrival(traceExporter, 'traces', logger);
    const provider = new sdk.NodeTracerProvider({
      resource,
      spanProcessors: [new sdk.BatchSpanProcessor(traceExporter)],
    });
    provider.register();
    return {
      shutdown: () => provider.shutdown(),
      disable: () => [trace, context, propagation].forEach((api) => void api.disable()),
    };
  },
  async metrics(url: string, env: Environment, about: About, logger: Logger): Promise<Sender> {
    const packages = ['@opentelemetry/sdk-metrics', '@opentelemetry/exporter-metrics-otlp-http'];
    const [resource, [sdk, exporter]] = await installed('metrics', packages, async () => [
      await resourceOf(env, about),
      await Promise.all([import('@opentelemetry/sdk-metrics'), import('@opentelemetry/exporter-metrics-otlp-http')]),
    ]);
    const exportIntervalMillis = readInterval(env);
    const metricExporter = new exporter.OTLPMetricExporter({ url, timeoutMillis: sendTimeoutMs });
    reportArrival(metricExporter, 'metrics', logger);
    const reader = new sdk.PeriodicExportingMetricReader({
      exporter: metricExporter,
      exportIntervalMillis,
      exportTimeoutMillis: Math.min(sendTimeoutMs, exportIntervalMillis),
      cardinalityLimits: { default: seriesMax },
    });
    const provider = new sdk.MeterProvider({ resource, readers: [reader] });
    metrics.setGlobalMeterProvider(provider);
    return { shutdown: () => provider.shutdown(), disable: () => metrics.disable() };
  },
  /** The SDK may be missing if only the general variable is set, which may be meant for traces and metrics only. */
  async logs(url: string, env: Environment, about: About, logger: Logger): Promise<Sender | null> {
    const packages = ['@opentelemetry/sdk-logs', '@opentelemetry/exporter-logs-otlp-http'];
    const loading = installed('logs', packages, async () => ({
      resource: await resourceOf(env, about),
      sdk: await import('@opentelemetry/sdk-logs'),
      exporter: await import('@opentelemetry/exporter-logs-otlp-http'),
    }));
    const loaded = await loading.catch((error: AppError) => error);
    if (loaded instanceof Error) {
      if (isNamed('logs', env)) throw loaded;
      logger.info({ reason: loaded.message }, 'results of checks are not sent as events');
      return null;
    }
    const { resource, sdk, exporter } = loaded;
    const logExporter = new exporter.OTLPLogExporter({ url, timeoutMillis: sendTimeoutMs });
    reportArrival(logExporter, 'logs', logger);
    const provider = new sdk.LoggerProvider({
      resource,
      processors: [new sdk.BatchLogRecordProcessor({ exporter: logExporter })],
    });
    logs.setGlobalLoggerProvider(provider);
    return { shutdown: () => provider.shutdown(), disable: () => logs.disable() };
  },
};

async function resourceOf(env: Environment, { replica, version }: About) {
  const { defaultResource, resourceFromAttributes } = await import('@opentelemetry/resources');
  const ours = {
    'service.name': readVariable('OTEL_SERVICE_NAME', env) ?? 'stopgate',
    'service.instance.id': replica,
    'service.version': version,
  };
  return defaultResource().merge(resourceFromAttributes(ours));
}

/** @throws AppError config.bad */
async function installed<Modules>(signal: Signal, packages: readonly string[], load: () => Promise<Modules>) {
  try {
    return await load();
  } catch (cause) {
    const versioned = [...packages, '@opentelemetry/resources'].map((name) => `${name}@${versionOf(name)}`);
    const line = `npm install ${versioned.join(' ')}`;
    const message =
      `${signal} need version 2 of the OpenTelemetry SDK, which is not installed: run "${line}", ` +
      `or turn them off with ${exporterVariable(signal)}=none`;
    throw new AppError('config.bad', message, { cause });
  }
}

/** Versions that work together. Version 3 of the SDK has another interface. */
const versionOf = (name: string): string => (name.includes('/exporter-') ? '0.223' : '2');

/** Whether a variable asks for this signal in particular. */
const isNamed = (signal: Signal, env: Environment): boolean =>
  readVariable(exporterVariable(signal), env) !== undefined || readVariable(ownAddress(signal), env) !== undefined;

const ownAddress = (signal: Signal): string => `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_ENDPOINT`;
const exporterVariable = (signal: Signal): string => `OTEL_${signal.toUpperCase()}_EXPORTER`;

/** Forwards the SDK's warnings about its variables, such as an unknown sampler. */
function diagLogger(logger: Logger): DiagLogger {
  const ignore = () => undefined;
  const warn = (text: string) => logger.warn({ text }, 'warning of the OpenTelemetry SDK');
  return { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
}

type Exporter<Items> = {
  export(items: Items, done: (result: { readonly code: number; readonly error?: Error }) => void): void;
};

/** Logs the first of several failures in a row and the success that ends them, so that a long outage logs two lines. */
function reportArrival<Items>(exporter: Exporter<Items>, signal: Signal, logger: Logger): void {
  const send = exporter.export.bind(exporter);
  let arrives = true;
  exporter.export = (items, done) =>
    send(items, (result) => {
      const { code, error: err } = result;
      if (arrives && code !== 0) logger.warn({ err }, `the collector does not accept ${signal}; they are lost`);
      if (!arrives && code === 0) logger.info({}, `the collector accepts ${signal} again`);
      arrives = code === 0;
      done(result);
    });
}

/**
 * Warns of exporters and protocols that are not supported. OpenTelemetry's specification says to ignore them, not to
 * fail.
 */
function warnOfOtherFormats(signal: Signal, env: Environment, logger: Logger): void {
  const kind = exporterVariable(signal);
  const exporters = readVariable(kind, env);
  if (exporters !== undefined && exporters !== 'otlp')
    logger.warn({ [kind]: exporters }, `${signal} can only be sent by OTLP`);
  const protocols = ['OTEL_EXPORTER_OTLP_PROTOCOL', `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_PROTOCOL`];
  for (const name of protocols) {
    const protocol = readVariable(name, env);
    // Collectors accept protobuf and JSON at the same address, so any HTTP protocol is fine.
    if (protocol !== undefined && !protocol.startsWith('http/'))
      logger.warn({ [name]: protocol }, `${signal} can only be sent over HTTP`);
  }
}

/**
 * Returns the URL for a signal, or null if it is not sent. A signal's own variable has the full URL; the general one is
 * a base URL.
 * @throws AppError config.bad
 */
function collectorUrl(signal: Signal, env: Environment): string | null {
  if (readVariable('OTEL_SDK_DISABLED', env) === 'true') return null;
  if (readVariable(exporterVariable(signal), env) === 'none') return null;
  const general = 'OTEL_EXPORTER_OTLP_ENDPOINT';
  const own = ownAddress(signal);
  const whole = readVariable(own, env);
  const base = readVariable(general, env);
  if (whole !== undefined) return readAddress(own, whole);
  return base === undefined ? null : `${readAddress(general, base).replace(/\/$/, '')}/v1/${signal}`;
}

/** Validates a URL and returns it unchanged. @throws AppError config.bad */
function readAddress(variable: string, given: string): string {
  if (/^https?:\/\//i.test(given) && URL.canParse(given)) return given;
  const message = `${variable} '${withoutKeys(given)}' is not the address of a collector, such as http://127.0.0.1:4318`;
  throw new AppError('config.bad', message);
}

/** Returns milliseconds. @throws AppError config.bad */
function readInterval(env: Environment): number {
  const given = readVariable('OTEL_METRIC_EXPORT_INTERVAL', env);
  if (given === undefined) return exportIntervalMs;
  if (/^[1-9]\d{0,8}$/.test(given)) return Number(given);
  const message = `OTEL_METRIC_EXPORT_INTERVAL '${given}' is not a whole number of milliseconds, such as 60000`;
  throw new AppError('config.bad', message);
}

const withoutKeys = (url: string): string => url.replace(/\/\/[^@/]*@/, '//').replace(/\?.*/s, '');
