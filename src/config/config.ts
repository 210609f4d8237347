/**
 * Configuration: the only reader of the environment. Each option comes from its flag, else its `STOPGATE_*` variable,
 * else stopgate.yaml, else the running `stopgate dev` of this folder, else the built-in default (protocol 11).
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { idSchema } from '../../machines/index.ts';
import { AppError, type ErrorIssue } from '../errors.ts';
import { type ConfigFile, describePosition, type ReadConfigFile, readConfigFile } from './file.ts';
import { describeFaults } from './problems.ts';
import { findStore, type Store } from './store.ts';
import { type HttpAddress, httpSchema, isLoopback, logLevelSchema, natsSchema, tokenSchema } from './values.ts';

export { defaultCredentials } from './store.ts';

const optionsSchema = z.object({
  nats: natsSchema,
  creds: z.string().min(1).nullable(),
  fleet: idSchema,
  http: httpSchema,
  token: tokenSchema.nullable(),
  replica: idSchema,
  logLevel: logLevelSchema,
});
type Option = keyof typeof optionsSchema.shape;
type Written = { readonly [Name in Option]?: string | null | undefined };

const variables: Readonly<Record<Option | 'config', string>> = {
  nats: 'STOPGATE_NATS',
  creds: 'STOPGATE_CREDS',
  fleet: 'STOPGATE_FLEET',
  http: 'STOPGATE_HTTP',
  token: 'STOPGATE_TOKEN',
  replica: 'STOPGATE_REPLICA',
  logLevel: 'STOPGATE_LOG_LEVEL',
  config: 'STOPGATE_CONFIG',
};

/** As the command line has them; undefined: not given. `config`: the path of stopgate.yaml. */
export type Flags = { readonly [Name in Option | 'config']?: string | undefined };

export type Config = {
  readonly nats: string;
  /** An absolute path; null: none was named, see `defaultCredentials`. */
  readonly creds: string | null;
  readonly fleet: string;
  /** Null: no HTTP. */
  readonly http: HttpAddress | null;
  readonly token: string | null;
  readonly replica: string;
  readonly logLevel: z.infer<typeof logLevelSchema>;
  /** What stopgate.yaml says; the defaults where there is none. */
  readonly file: ConfigFile;
  /** Where it stands, or would stand: a file that appears there later is ours. */
  readonly filePath: string;
  /** Null: there is none. For `watchConfigFile`, so that no edit is missed. */
  readonly fileText: string | null;
  /** For the log at the start. */
  readonly warnings: readonly string[];
  readonly store: Store | null;
  /** Nobody named a server of NATS: `nats` is only where one usually is. */
  readonly natsUnsaid: boolean;
};

export type Surroundings = {
  readonly flags?: Flags;
  readonly cwd?: string;
  /** A variable that is set to '' counts as not set. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly home?: string;
  readonly random?: (bytes: number) => Uint8Array;
  /** This process is to be the service, so where another one listens is no default for it. */
  readonly serving?: boolean;
  /** The file's rules are this process's own, as they are a service's: a broken one stops it. */
  readonly ownFile?: boolean;
};

/** @throws AppError config.bad: its message has every problem on a line, each with where the value came from */
export function loadConfig(surroundings: Surroundings = {}): Config {
  const {
    flags = {},
    cwd = process.cwd(),
    env = process.env,
    home,
    random = randomBytes,
    serving = false,
    ownFile = serving,
  } = surroundings;
  const file = openFile(flags, cwd, env);
  const store = findStore(cwd, home);
  const sources: Source[] = [
    { values: flags, nameOf: (option) => `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}` },
    { values: valuesOf(env), nameOf: (option) => variables[option] },
    { values: file.read.file, nameOf: (option) => describePosition(file.read.locate([option]), file.path) },
    { values: serving ? {} : valuesOfService(store), nameOf: () => '.stopgate/service.json' },
    { values: defaultsWith(random), nameOf: (option) => `default ${option}` },
  ];
  const { options, problems } = resolveOptions(sources);
  // A client is not to fail by a typo in rules that are not its own: it says so and takes the other sources.
  if (ownFile || flags.config !== undefined || readSecret(variables.config, env) !== undefined)
    problems.unshift(...file.problems);
  if (options === null || problems.length > 0) {
    const lines = problems.map(({ path, message }) => `${path}: ${message}`);
    throw new AppError('config.bad', lines.join('\n'), { issues: problems });
  }
  return Object.freeze({
    ...options,
    creds: options.creds === null ? null : resolve(cwd, options.creds),
    http: options.http === null ? null : Object.freeze(options.http),
    file: file.read.file,
    filePath: file.path,
    fileText: file.text,
    warnings: Object.freeze([
      ...file.problems.map(({ path, message }) => `${path}: ${message}`),
      ...file.read.warnings,
      ...doubtSecret(file.read, file.path, env),
    ]),
    store,
    natsUnsaid: sources.slice(0, -1).every(({ values }) => values.nats == null),
  });
}

/**
 * For whoever asks a service: in a folder whose own service is down nobody means whatever else listens where a NATS
 * server usually is. @throws AppError service.unreachable
 */
export function refuseOtherService({ natsUnsaid, store }: Pick<Config, 'natsUnsaid' | 'store'>): void {
  if (!natsUnsaid || store === null) return;
  const folder = dirname(store.folder);
  throw new AppError(
    'service.unreachable',
    `no service runs in ${folder} now; start "stopgate dev" there, or name a NATS server by --nats`,
  );
}

/** For `main`, which hands it on. */
export const readEnvironment = (): NonNullable<Surroundings['env']> => process.env;

/** The value of a variable that the configuration names, such as a webhook's secret; undefined: not set. */
export function readSecret(name: string, env: NonNullable<Surroundings['env']> = process.env): string | undefined {
  return env[name] === '' ? undefined : env[name];
}

type Source = { readonly values: Written; readonly nameOf: (option: Option) => string };

const defaultsWith = (random: (bytes: number) => Uint8Array): Written => ({
  nats: 'nats://127.0.0.1:4222',
  fleet: 'main',
  http: '127.0.0.1:4280',
  replica: `r-${Buffer.from(random(4)).toString('hex')}`,
  logLevel: 'info',
});

function valuesOf(env: NonNullable<Surroundings['env']>): Written {
  return Object.fromEntries(Object.entries(variables).map(([option, name]) => [option, readSecret(name, env)]));
}

/** A service without HTTP says so; that is not the same as a service that says nothing. */
function valuesOfService(store: Store | null): Written {
  const service = store?.service ?? null;
  return service === null ? {} : { nats: service.nats, fleet: service.fleet, http: service.http ?? 'off' };
}

/** The first source that has an option gives it; all are judged at once, so that all problems are told at once. */
function resolveOptions(sources: readonly Source[]) {
  const names = optionsSchema.keyof().options;
  const origins = new Map(names.map((name) => [name, sources.find(({ values }) => (values[name] ?? null) !== null)]));
  const written = Object.fromEntries(names.map((name) => [name, origins.get(name)?.values[name] ?? null]));
  const nameOf = (option: Option) => origins.get(option)?.nameOf(option) ?? option;
  const result = optionsSchema.safeParse(written, { reportInput: true });
  const problems: ErrorIssue[] = describeFaults(result.error?.issues ?? [], optionsSchema).map(({ path, message }) => ({
    path: nameOf(path[0] as Option),
    message,
  }));
  const options = result.data ?? null;
  if (options?.http && options.token === null && !isLoopback(options.http.host)) {
    const message = `"${written.http}" can be reached from other machines, so it needs a token: set STOPGATE_TOKEN (or --token) to a long random word, or take 127.0.0.1`;
    problems.push({ path: nameOf('http'), message });
  }
  return { options, problems };
}

type OpenFile = {
  readonly path: string;
  readonly text: string | null;
  readonly read: Extract<ReadConfigFile, { ok: true }>;
  readonly problems: readonly ErrorIssue[];
};

/** With problems, `read` is that of an empty file, so that the other options can be judged all the same. */
function openFile(flags: Flags, cwd: string, env: NonNullable<Surroundings['env']>): OpenFile {
  const variable = readSecret(variables.config, env);
  const path = resolve(cwd, flags.config ?? variable ?? 'stopgate.yaml');
  const origin = flags.config !== undefined ? '--config' : variable !== undefined ? variables.config : null;
  const empty = readConfigFile('', path) as OpenFile['read'];
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    if (origin === null && (cause as NodeJS.ErrnoException).code === 'ENOENT')
      return { path, text: null, read: empty, problems: [] };
    const message = `cannot read '${path}': ${(cause as Error).message}`;
    return { path, text: null, read: empty, problems: [{ path: origin ?? 'stopgate.yaml', message }] };
  }
  const read = readConfigFile(text, path);
  if (read.ok) return { path, text, read, problems: [] };
  return {
    path,
    text,
    read: empty,
    problems: read.problems.map((it) => ({ path: describePosition(it, path), message: it.message })),
  };
}

/** A file that names a variable which is not set. */
export function doubtSecret(read: OpenFile['read'], path: string, env: NonNullable<Surroundings['env']>): string[] {
  const name = read.file.escalation?.webhook?.secretEnv ?? null;
  if (name === null || readSecret(name, env) !== undefined) return [];
  const at = describePosition(read.locate(['escalation', 'webhook', 'secretEnv']), path);
  return [`${at}: the variable "${name}" is not set: webhooks go out unsigned`];
}
