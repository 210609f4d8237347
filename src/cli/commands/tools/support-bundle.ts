/** support-bundle: writes diagnostics for somebody who helps, in one file that can be read before it is sent. */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { arch, cpus, platform, release, totalmem } from 'node:os';
import { dirname, resolve } from 'node:path';
import { parseDuration } from '../../../../machines/values/time.ts';
import { askHttp } from '../../../agents/doctor/session.ts';
import { type Config, loadConfig } from '../../../config/config.ts';
import { tokenForHttp } from '../../../config/own-address.ts';
import { defaultCredentials } from '../../../config/store.ts';
import { AppError } from '../../../errors.ts';
import { describeSystemError } from '../../../system-error.ts';
import type { Io } from '../../../terminal/process-io.ts';
import { version } from '../../../version.ts';
import { defineCommand, option } from '../../command.ts';
import { clientArgs } from '../../option-values.ts';
import { serveArgs } from '../run/services.ts';

const { http, fleet, config: configFile } = serveArgs;

export const supportBundle = defineCommand({
  args: {
    nats: option('URL', 'the NATS servers (STOPGATE_NATS)'),
    creds: option('FILE', "the operator's credentials (STOPGATE_CREDS)"),
    http: { ...http, description: 'the service (STOPGATE_HTTP)' },
    fleet: { ...fleet, description: 'the fleet (STOPGATE_FLEET; default: main)' },
    config: configFile,
    context: clientArgs.context,
    out: option('FILE', 'the file to write (default: stopgate-support-TIME.json)'),
  },
  details: [
    'Writes versions, options, the shape of stopgate.yaml, readiness, metrics, and what NATS reports about its streams and replicas.',
    'Reports what it could not collect and how to get it. Without the token of the service, data from HTTP is missing.',
    'The file contains no secrets and no texts of agents, policies or commands: for a text in stopgate.yaml it has only the length. It does contain the names of fleets, policies and replicas. Read it before you send it.',
  ],
  examples: ['stopgate support-bundle', 'stopgate support-bundle --out bundle.json'],
  run: async ({ flags: { out: file, context, ...flags }, io, out, note }) => {
    const now = new Date().toISOString();
    const path = resolve(io.cwd, file ?? `stopgate-support-${now.replace(/[-:]|\.\d+/g, '')}.json`);
    const config = await loadConfig({ flags, cwd: io.cwd, env: io.env, contexts: { named: context } });
    const service = await describeService(config);
    const missing = gapsIn(service, config);
    const bundle = { at: now, missing, ...describeMachine(), ...describeConfig(config, io), ...service };
    try {
      await writeFile(path, `${JSON.stringify(bundle, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
    } catch (cause) {
      const why = existsSync(dirname(path)) ? describeSystemError(cause) : `there is no folder '${dirname(path)}'`;
      throw new AppError('input.bad', `cannot write '${path}': ${why}`, { cause });
    }
    await out.print(`wrote ${path}; read it before you send it`);
    for (const gap of missing) note(`stopgate: missing: ${gap}`);
    return 0;
  },
});

const describeMachine = () => ({
  versions: { stopgate: version(), node: process.version, os: `${platform()} ${release()} ${arch()}` },
  machine: { cores: cpus().length, memoryBytes: totalmem() },
});

/** Addresses and names, and whether secrets are set. Never a secret or a text. */
function describeConfig(config: Config, { env }: Io) {
  const { policyForm, commands, escalation, roots, concurrency, replyPrefixes } = config.file;
  return {
    options: {
      nats: config.nats.replace(/[^/,\s]*@/g, '***@'),
      http: config.http?.url ?? 'off',
      fleet: config.fleet,
      fleets: config.fleets,
      shard: config.shard,
      replica: config.replica,
      logLevel: config.logLevel,
      token: isSet(config.token),
      creds: isSet(config.creds),
    },
    // Only names, because the values may be anything.
    variables: Object.keys(env)
      .filter((name) => /^(STOPGATE|OTEL)_/.test(name))
      .sort(),
    file: {
      isThere: config.fileText !== null,
      concurrency,
      roots: roots.length,
      replyPrefixes: replyPrefixes.length,
      warnings: config.warnings.length,
      policies: outlineOf(policyForm, new Set(['labels'])),
      commands: outlineOf(commands, new Set(['env', 'run'])),
      escalation: outlineOf(escalation),
    },
  };
}

const isSet = (value: string | null) => (value === null ? 'not set' : 'set');

type ServiceReport = Awaited<ReturnType<typeof describeService>>;

/** Lists what is missing from the report, and how to get it. */
function gapsIn({ readiness, nats }: ServiceReport, { http, nats: url, token }: Config): string[] {
  const failure = 'status' in readiness ? null : readiness.unknown;
  const isRefused = 'status' in readiness && [401, 403].includes(readiness.status);
  const tokenHint = token === null ? 'needs a token; set STOPGATE_TOKEN' : 'refuses this token; check STOPGATE_TOKEN';
  const fromHttp =
    failure === null && !isRefused
      ? []
      : [
          `readiness, metrics or replicas from ${http?.url ?? 'HTTP'}: ${failure ?? tokenHint}${failure === null || http === null ? '' : ' (--http sets the address)'}`,
        ];
  const fromNats =
    'unknown' in nats ? [`streams or replicas from ${url.replace(/[^/,\s]*@/g, '***@')}: ${nats.unknown}`] : [];
  return [...fromHttp, ...fromNats];
}

async function describeService(config: Config) {
  const { url } = config.http ?? { url: null };
  const ask = async (path: string) => {
    if (url === null) return { unknown: 'http is off' };
    const reply = await askHttp(`${url}${path}`, tokenForHttp(config, config.token));
    return typeof reply === 'string' ? { unknown: reply } : { status: reply.status, body: reply.body ?? reply.text };
  };
  const [readiness, api, metrics] = [await ask('/readyz'), await ask('/api'), await ask('/metrics')];
  const { readServerReport } = await import('../../../nats/embedded/server-report.ts');
  const credsFile = defaultCredentials(config, 'operator');
  const nats = await readServerReport({ url: config.nats, credsFile, name: 'stopgate support-bundle' }).catch(
    (error: AppError) => ({ unknown: error.message }),
  );
  return { readiness, api, metrics, nats };
}

/**
 * Returns the shape of a value without its texts, so that it can be shown to others. Keeps keys, numbers, booleans and
 * durations; replaces other texts by their length. The keys inside of `hidden` keys may be secret, so they are only
 * counted.
 */
function outlineOf(value: unknown, hidden: ReadonlySet<string> = new Set()): unknown {
  if (typeof value === 'string') return parseDuration(value) === null ? `${value.length} characters` : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => outlineOf(each, hidden));
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      hidden.has(key) ? `${Object.keys(each ?? {}).length} hidden` : outlineOf(each, hidden),
    ]),
  );
}
