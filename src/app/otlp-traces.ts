/**
 * Sends traces to an OpenTelemetry collector, if its address is in the usual variable. The SDK is loaded then, and not
 * before: it is an optional dependency that whoever wants traces installs. It reads the other `OTEL_*` variables itself.
 */
import { context, propagation, trace } from '@opentelemetry/api';
import { type Environment, readVariable } from '../config/environment.ts';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';

const packages = [
  '@opentelemetry/sdk-trace-node',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/resources',
];
/** For one batch, tries that failed included: the end of the process waits for the last one. */
const sendTimeoutMs = 2_000;

export type OtlpTraces = { close(): Promise<void> };

/** Null: there is no collector. @throws AppError config.bad: the SDK is not installed */
export async function openOtlpTraces(
  env: Environment,
  about: { readonly replica: string; readonly version: string },
  logger: Logger,
): Promise<OtlpTraces | null> {
  const url = tracesUrl(env);
  if (url === undefined || readVariable('OTEL_SDK_DISABLED', env) === 'true') return null;
  const { sdk, exporter, resources } = await loadSdk();
  const resource = resources.resourceFromAttributes({
    'service.name': readVariable('OTEL_SERVICE_NAME', env) ?? 'stopgate',
    'service.instance.id': about.replica,
    'service.version': about.version,
  });
  const provider = new sdk.NodeTracerProvider({
    resource: resources.defaultResource().merge(resource),
    spanProcessors: [new sdk.BatchSpanProcessor(new exporter.OTLPTraceExporter({ url, timeoutMillis: sendTimeoutMs }))],
  });
  provider.register();
  logger.info({ collector: withoutUser(url) }, 'traces are sent');
  return {
    async close() {
      await provider.shutdown().catch((error: unknown) => logger.warn({ err: error }, 'the last traces were not sent'));
      for (const api of [trace, context, propagation]) api.disable();
    },
  };
}

/** @throws AppError config.bad */
async function loadSdk() {
  try {
    const [sdk, exporter, resources] = await Promise.all([
      import('@opentelemetry/sdk-trace-node'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
    ]);
    return { sdk, exporter, resources };
  } catch (cause) {
    const message = `traces need the OpenTelemetry SDK, which is not installed: npm install ${packages.join(' ')}`;
    throw new AppError('config.bad', message, { cause });
  }
}

/** That of traces alone is whole; the general one is the base of all signals. */
function tracesUrl(env: Environment): string | undefined {
  const base = readVariable('OTEL_EXPORTER_OTLP_ENDPOINT', env);
  const whole = readVariable('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', env);
  return whole ?? (base === undefined ? undefined : `${base.replace(/\/$/, '')}/v1/traces`);
}

const withoutUser = (url: string): string => url.replace(/\/\/[^@/]*@/, '//');
