/**
 * Configuration: the only reader of stopgate.yaml. Each option comes from its flag, else its `STOPGATE_*` variable, else
 * stopgate.yaml, else the running `stopgate dev` of this folder, else the built-in default (docs/protocol.md §11).
 */
import { lstatSync, readFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { AppError, type ErrorIssue } from '../errors.ts';
import { readPlainFile } from '../plain-file.ts';
import { describeSystemError } from '../system-error.ts';
import { readTokens } from './access-tokens.ts';
import { type Environment, readEnvironment, readVariable } from './environment.ts';
import { type ConfigFile, emptyConfigFile } from './file.ts';
import type { FleetSelection } from './fleet-selection.ts';
import { type Option, type Options, resolveOptions, type Source, type Written } from './options.ts';
import { describePosition, type Locate, type Path } from './problems.ts';
import { findStore, type Store } from './store.ts';
import { isPrivate } from './values.ts';

const variables: Readonly<Record<Option | 'config', string>> = {
  nats: 'STOPGATE_NATS',
  creds: 'STOPGATE_CREDS',
  fleet: 'STOPGATE_FLEET',
  fleets: 'STOPGATE_FLEETS',
  shard: 'STOPGATE_SHARD',
  http: 'STOPGATE_HTTP',
  token: 'STOPGATE_TOKEN',
  publicUrl: 'STOPGATE_PUBLIC_URL',
  tlsCert: 'STOPGATE_TLS_CERT',
  tlsKey: 'STOPGATE_TLS_KEY',
  replica: 'STOPGATE_REPLICA',
  logLevel: 'STOPGATE_LOG_LEVEL',
  config: 'STOPGATE_CONFIG',
};

/** The options as the command line gives them; undefined: not given. `config`: the path of stopgate.yaml. */
export type Flags = { readonly [Name in Option | 'config']?: string | undefined };

/** Paths are absolute. */
export type Config = Omit<Options, 'fleets'> & {
  /** The fleets that a service serves. */
  readonly fleets: FleetSelection;
  /** True if `fleets` was given to this process: as long as only the file says it, a change of the file counts. */
  readonly fleetIsGiven: boolean;
  readonly fleetsInFile: boolean;
  /** The contents of stopgate.yaml; the defaults if there is none. */
  readonly file: ConfigFile;
  /** The path at which the file is or would be: one that appears there later is ours. */
  readonly filePath: string;
  /** It is null if there is no file. `watchFile` compares with it, so that no edit is missed. */
  readonly fileText: string | null;
  /** A long-running process polls the file this often. Default: 500 ms. */
  readonly fileIntervalMs?: number;
  /** Warnings to log at the start. */
  readonly warnings: readonly string[];
  readonly store: Store | null;
  /** No NATS server was given: `nats` is where one usually listens. */
  readonly natsIsDefault: boolean;
  /** Only a file that was found in the folder, and may be of anybody, names it: see own-address.ts. */
  readonly natsIsFound: boolean;
  readonly httpIsFound: boolean;
  readonly credsIsFound: boolean;
};

export type Surroundings = {
  readonly flags?: Flags;
  readonly cwd?: string;
  readonly env?: Environment;
  readonly home?: string;
  /** Returns a number from 0 to 1, as `Math.random` does. */
  readonly random?: () => number;
  /** This process becomes the service, so the address of a running one is not its default. */
  readonly serving?: boolean;
  /** The file's rules are this process's own, as they are a service's: a broken file stops it. */
  readonly ownFile?: boolean;
};

/** @throws AppError config.bad: its message has one line per problem, each with where the value came from */
export async function loadConfig(surroundings: Surroundings = {}): Promise<Config> {
  const { flags = {}, cwd = process.cwd(), env = readEnvironment(), home, serving = false } = surroundings;
  const { random = Math.random, ownFile = serving } = surroundings;
  const opened = await openFile(flags, cwd, env);
  const store = findStore(cwd, home);
  const nameInFile = (option: Option) => describePosition(opened.locate([option]), opened.path);
  const ofFile: Source = { values: writtenIn(opened.file), nameOf: nameInFile };
  const ofStore: Source = {
    values: serving ? {} : valuesOfService(store),
    nameOf: () => '.stopgate/service.json',
  };
  const defaults: Source = { values: defaultsWith(random), nameOf: (option) => `default ${option}` };
  const sources: readonly Source[] = [
    { values: flags, nameOf: (option) => `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}` },
    { values: valuesOf(env), nameOf: (option) => variables[option] },
    ofFile,
    ofStore,
    defaults,
  ];
  const { options, problems } = resolveOptions(sources, opened.file.tokens.length > 0);
  // A client does not fail because of a typo in rules that are not its own: it warns, and uses the other sources.
  const isOwnFile = ownFile || flags.config !== undefined || readVariable(variables.config, env) !== undefined;
  if (isOwnFile) problems.unshift(...opened.problems);
  const deadNames = deadNamesIn(opened, env);
  if (options === null || problems.length > 0 || (serving && deadNames.length > 0)) {
    const lines = [...problems.map(({ path, message }) => `${path}: ${message}`), ...(serving ? deadNames : [])];
    throw new AppError('config.bad', lines.join('\n'), { issues: problems });
  }
  const isGiven = (option: Option, among: readonly Source[]) => among.some(({ values }) => values[option] != null);
  const isFound = (option: Option) => {
    const origin = sources.find(({ values }) => values[option] != null)?.values;
    const isUsual = origin?.[option] === defaults.values[option];
    return !isUsual && ((origin === ofFile.values && !isOwnFile) || origin === ofStore.values);
  };
  const fleetIsGiven = isGiven('fleet', sources.slice(0, -1));
  const fleets = selectFleets({ fleet: options.fleet, fleetIsGiven }, options.fleets);
  const unbound = serving ? tokensWithoutFleets(opened, { fleets, shard: options.shard }) : [];
  if (unbound.length > 0) throw new AppError('config.bad', unbound.join('\n'));
  const toPath = (path: string | null) => (path === null ? null : resolve(cwd, path));
  return Object.freeze({
    ...options,
    fleet: fleetIsGiven ? options.fleet : (fleets.names[0] ?? options.fleet),
    fleets,
    fleetIsGiven,
    fleetsInFile: !isGiven('fleets', sources.slice(0, 2)),
    creds: toPath(options.creds),
    tlsCert: toPath(options.tlsCert),
    tlsKey: toPath(options.tlsKey),
    http: options.http === null ? null : Object.freeze(options.http),
    file: opened.file,
    filePath: opened.path,
    fileText: opened.text,
    warnings: Object.freeze([
      ...opened.problems.map(({ path, message }) => `${path}: ${message}`),
      ...deadNames,
      ...(opened.isEmpty
        ? [
            `${basename(opened.path)} is empty: the policies in force stay; a start over a log that has none allows every stop`,
          ]
        : []),
      ...(serving ? shortToken(options) : []),
    ]),
    store,
    natsIsFound: isFound('nats'),
    httpIsFound: isFound('http'),
    credsIsFound: isFound('creds'),
    natsIsDefault: !isGiven('nats', sources.slice(0, -1)),
  });
}

/** Below that, somebody who may ask often enough finds it. */
const tokenLengthMin = 16;

const shortToken = ({ http, token, publicUrl }: Options): string[] =>
  token === null || token.length >= tokenLengthMin || http === null || isPrivate({ host: http.host, publicUrl })
    ? []
    : [
        `others can reach HTTP, and its token has fewer than ${tokenLengthMin} characters; "stopgate token" makes a longer one`,
      ];

/** The process lives and dies with its only fleet. */
export const isOneFleet = ({ fleets, shard }: Pick<Config, 'fleets' | 'shard'>): boolean =>
  fleets.names.length === 1 && fleets.patterns.length === 0 && shard === null;

/**
 * The ids of workers are chosen by agents, fleet by fleet: a token for the workers `box-*` of one fleet must not reach
 * those of all the others because nobody thought of them.
 */
export function tokensWithoutFleets(
  { file, locate, path }: Pick<OpenedFile, 'file' | 'locate' | 'path'>,
  served: Pick<Config, 'fleets' | 'shard'>,
): string[] {
  if (isOneFleet(served)) return [];
  const example = served.fleets.names[0] ?? served.fleets.patterns[0] ?? 'main';
  return file.tokens
    .filter(({ workers, fleets }) => workers !== null && fleets === null)
    .map(({ name }) => {
      const where = describePosition(locate(['tokens', name]), path);
      return `${where}: the token "${name}" has workers and no fleets, and this service has several: add fleets: [${JSON.stringify(example)}], or fleets: ["*"] for these workers of every fleet`;
    });
}

/** Returns null if only `fleet` is configured, if anything. A given `fleet` is served too, and comes first. */
export function selectFleets(
  { fleet, fleetIsGiven }: Pick<Config, 'fleet' | 'fleetIsGiven'>,
  given: FleetSelection | null,
): FleetSelection {
  if (given === null) return { names: [fleet], patterns: [] };
  return { ...given, names: [...new Set([...(fleetIsGiven ? [fleet] : []), ...given.names])] };
}

/**
 * For clients: in a folder whose own service is down, another NATS server at the default address is not the one that is
 * meant. @throws AppError service.unreachable
 */
export function refuseOtherService({ natsIsDefault, store }: Pick<Config, 'natsIsDefault' | 'store'>): void {
  if (!natsIsDefault || store === null) return;
  const folder = dirname(store.folder);
  throw new AppError(
    'service.unreachable',
    `no service runs in ${folder} now; start "stopgate dev" there, or name a NATS server with --nats`,
  );
}

const defaultsWith = (random: () => number): Written => ({
  nats: 'nats://127.0.0.1:4222',
  fleet: 'main',
  http: '127.0.0.1:4280',
  replica: `r-${Math.floor(random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0')}`,
  logLevel: 'info',
});

const writtenIn = ({ fleets, tokens, tls, ...file }: ConfigFile): Written => ({
  ...file,
  fleets: fleets?.join(','),
  tlsCert: tls?.cert,
  tlsKey: tls?.key,
});

function valuesOf(env: Environment): Written {
  return Object.fromEntries(Object.entries(variables).map(([option, name]) => [option, readVariable(name, env)]));
}

/** A service without HTTP has `http: null`, which is not the same as no service. */
function valuesOfService(store: Store | null): Written {
  const service = store?.service ?? null;
  return service === null ? {} : { nats: service.nats, fleet: service.fleet, http: service.http ?? 'off' };
}

/** `text` null: there is no file. `problems`: why it could not be read; `unknownNames`: of a file that could. */
type OpenedFile = {
  readonly path: string;
  readonly text: string | null;
  /** There is a file, and nothing is written in it. */
  readonly isEmpty: boolean;
  readonly file: ConfigFile;
  readonly locate: Locate;
  readonly unknownNames: readonly string[];
  readonly problems: readonly ErrorIssue[];
};

/**
 * Opens the configuration file. If it has problems, `file` is an empty one, so that the other options can still be
 * checked.
 */
async function openFile(flags: Flags, cwd: string, env: Environment): Promise<OpenedFile> {
  const variable = readVariable(variables.config, env);
  const path = resolve(cwd, flags.config ?? variable ?? 'stopgate.yaml');
  const origin = flags.config !== undefined ? '--config' : variable !== undefined ? variables.config : null;
  const start = { line: 1, column: 1 };
  const empty = { path, isEmpty: false, file: emptyConfigFile(path), locate: () => start, unknownNames: [] };
  let text: string;
  try {
    // A file that was named may well be a pipe, such as bash's <(…).
    text = origin === null ? readPlainFile(path) : readFileSync(path, 'utf8');
  } catch (cause) {
    // A link that leads nowhere is a file that cannot be read: without its policies every stop would be allowed.
    const isAbsent = (cause as NodeJS.ErrnoException).code === 'ENOENT' && !isThere(path);
    if (origin === null && isAbsent) return { ...empty, text: null, problems: [] };
    const message = `cannot read '${path}': ${describeSystemError(cause)}`;
    return { ...empty, text: null, problems: [{ path: origin ?? 'stopgate.yaml', message }] };
  }
  // YAML and the schemas take longer to load than everything else that a command needs.
  const { readConfigFile } = await import('./file-reader.ts');
  const read = readConfigFile(text, path);
  if (read.ok) return { path, text, ...read, problems: [] };
  const problems = read.problems.map((it) => ({ path: describePosition(it, path), message: it.message }));
  return { ...empty, text, problems };
}

const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** Finds names in a file that refer to nothing: each with its place, and what follows from it. */
export const deadNamesIn = (read: Pick<OpenedFile, 'file' | 'locate' | 'path' | 'unknownNames'>, env: Environment) => [
  ...read.unknownNames,
  ...missingSecrets(read, env),
];

/** Finds the secrets that a file points to and that do not exist. */
export function missingSecrets(
  { file, locate, path }: Pick<OpenedFile, 'file' | 'locate' | 'path'>,
  env: Environment,
): string[] {
  const at = (place: Path) => describePosition(locate(place), path);
  const tokens = readTokens(file.tokens, env).faults.map(
    ({ name, message }) => `${at(['tokens', name])}: the token "${name}": ${message}`,
  );
  const name = file.escalation?.webhook?.secretEnv ?? null;
  if (name === null || readVariable(name, env) !== undefined) return tokens;
  const unsigned = `the variable "${name}" is not set, so webhooks could not be signed`;
  return [`${at(['escalation', 'webhook', 'secretEnv'])}: ${unsigned}`, ...tokens];
}
