/**
 * Configuration. Each option comes from the first of: its flag, the context of `--context`, its `STOPGATE_*` variable,
 * the context of STOPGATE_CONTEXT, stopgate.yaml, the running `stopgate dev` of this folder, the selected context, the
 * built-in default (protocol.md §11). Only commands use contexts.
 */
import { lstatSync, readFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { AppError, type ErrorIssue } from '../errors.ts';
import { readPlainFile } from '../plain-file.ts';
import { describeStopped } from '../service-file.ts';
import { describeSystemError } from '../system-error.ts';
import { readTokens } from './access-tokens.ts';
import { contextsFile, findContext, type NamedContext, readContexts } from './contexts.ts';
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

/** The options given on the command line. `config`: the path of stopgate.yaml. */
export type Flags = { readonly [Name in Option | 'config']?: string | undefined };

/** All paths are absolute. */
export type Config = Omit<Options, 'fleets'> & {
  /** The fleets that the service serves. */
  readonly fleets: FleetSelection;
  /** True if a flag, a variable or a file sets `fleet`. */
  readonly fleetIsGiven: boolean;
  readonly fleetsInFile: boolean;
  /** The contents of stopgate.yaml, or the defaults if there is none. */
  readonly file: ConfigFile;
  /** The path of the file, even if it does not exist: a file that appears there later is used. */
  readonly filePath: string;
  /** The text of the file; null if there is none. `watchFile` compares with it, so that no edit is missed. */
  readonly fileText: string | null;
  /** Polling interval for the file in a long-running process. Default: 500 ms. */
  readonly fileIntervalMs?: number;
  /** Warnings to log at the start. */
  readonly warnings: readonly string[];
  readonly store: Store | null;
  /** No NATS server was given, so `nats` is the default address. */
  readonly natsIsDefault: boolean;
  /** The address comes only from a file in the folder, which anyone may have written: see own-address.ts. */
  readonly natsIsFound: boolean;
  readonly httpIsFound: boolean;
  readonly credsIsFound: boolean;
};

export type Surroundings = {
  readonly flags?: Flags;
  readonly cwd?: string;
  readonly env?: Environment;
  readonly home?: string;
  /** Returns a number from 0 to 1, like `Math.random`. */
  readonly random?: () => number;
  /** This process becomes the service, so it ignores the address of a running one. */
  readonly serving?: boolean;
  /** For a command of a person: uses the user's contexts. `named`: the one of `--context`. Default: none is used. */
  readonly contexts?: { readonly named: string | undefined } | undefined;
  /** The file's rules are this process's own, as for a service: a broken file is an error. Default: `serving`. */
  readonly ownFile?: boolean;
};

/** @throws AppError config.bad with one line per problem, each with the source of the value */
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
  const ofFlags: Source = {
    values: flags,
    nameOf: (option) => `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
  };
  const ofVariables: Source = { values: valuesOf(env), nameOf: (option) => variables[option] };
  const context =
    surroundings.contexts === undefined ? null : contextFor(surroundings.contexts.named, { env, home, store });
  const sources: readonly Source[] = insertContext(context, [ofFlags, ofVariables, ofFile, ofStore, defaults]);
  const { options, problems } = resolveOptions(sources, opened.file.tokens.length > 0);
  // A client must not fail because of a mistake in rules that it does not use: it warns and uses the other sources.
  const isOwnFile = ownFile || flags.config !== undefined || readVariable(variables.config, env) !== undefined;
  if (isOwnFile) problems.unshift(...opened.problems);
  const danglingNames = danglingNamesIn(opened, env);
  if (options === null || problems.length > 0 || (serving && danglingNames.length > 0)) {
    const lines = [...problems.map(({ path, message }) => `${path}: ${message}`), ...(serving ? danglingNames : [])];
    throw new AppError('config.bad', lines.join('\n'), { issues: problems });
  }
  if (serving) requireToken(options, opened.file.tokens.length > 0, nameInFile('publicUrl'));
  if (serving) refuseHttpPath(options);
  const isGiven = (option: Option, among: readonly Source[]) => among.some(({ values }) => values[option] != null);
  const isFound = (option: Option) => {
    const origin = sources.find(({ values }) => values[option] != null)?.values;
    const isDefault = origin?.[option] === defaults.values[option];
    return !isDefault && ((origin === ofFile.values && !isOwnFile) || origin === ofStore.values);
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
    fleetsInFile: !isGiven('fleets', [ofFlags, ofVariables]),
    creds: toPath(options.creds),
    tlsCert: toPath(options.tlsCert),
    tlsKey: toPath(options.tlsKey),
    http: options.http === null ? null : Object.freeze(options.http),
    file: opened.file,
    filePath: opened.path,
    fileText: opened.text,
    warnings: Object.freeze([
      ...opened.problems.map(({ path, message }) => `${path}: ${message}`),
      ...danglingNames,
      ...(opened.isEmpty ? [describeEmpty(opened.path)] : []),
      ...(serving ? shortToken(options) : []),
    ]),
    store,
    natsIsFound: isFound('nats'),
    httpIsFound: isFound('http'),
    credsIsFound: isFound('creds'),
    natsIsDefault: !isGiven('nats', sources.slice(0, -1)),
  });
}

const describeEmpty = (path: string): string =>
  `${basename(path)} is empty: the policies in the log stay in force; with none in the log, every stop is allowed`;

/** @throws AppError config.bad if the address of a service has a path */
function refuseHttpPath({ http }: Options): void {
  if (http === null || new URL(http.url).pathname === '/') return;
  throw new AppError(
    'config.bad',
    `http: "${http.url}" has a path, and a service listens without one: set HOST:PORT, and "publicUrl" to the URL behind the proxy`,
  );
}

type UsedContext = {
  readonly name: string;
  readonly values: NamedContext;
  /** How the context was chosen, which decides its rank among the sources. */
  readonly by: 'flag' | 'variable' | 'selection';
};

/** @throws AppError config.bad */
function contextFor(
  flag: string | undefined,
  { env, home, store }: { env: Environment; home: string | undefined; store: Store | null },
): UsedContext | null {
  const variable = readVariable('STOPGATE_CONTEXT', env);
  const contexts = readContexts(contextsFile(env, home));
  const named = flag ?? variable;
  if (named !== undefined)
    return { name: named, values: findContext(contexts, named), by: flag === undefined ? 'variable' : 'flag' };
  // In a folder with its own service, commands use that service, even while it is not running.
  if (contexts.selected === null || store !== null) return null;
  return { name: contexts.selected, values: findContext(contexts, contexts.selected), by: 'selection' };
}

/**
 * Inserts the context. Its credentials are for its own servers, so they are dropped if an earlier source names others.
 */
function insertContext(context: UsedContext | null, sources: readonly Source[]): readonly Source[] {
  if (context === null) return sources;
  const index = { flag: 1, variable: 2, selection: 4 }[context.by];
  const before = sources.slice(0, index);
  const isOther = before.some(({ values }) => values.nats != null);
  const { creds, ...others } = context.values;
  const added: Source = {
    values: isOther ? others : context.values,
    nameOf: (option) => `context "${context.name}", ${option}`,
  };
  return [...before, added, ...sources.slice(index)];
}

/** A host that is not loopback was refused with the other options. @throws AppError config.bad */
function requireToken({ http, token, publicUrl }: Options, hasTokens: boolean, name: string): void {
  if (http === null || token !== null || hasTokens || isPrivate({ host: http.host, publicUrl })) return;
  throw new AppError(
    'config.bad',
    `${name}: others reach HTTP at ${publicUrl}, so it needs a token: set STOPGATE_TOKEN (or --token), or "tokens" in stopgate.yaml`,
  );
}

/** Shorter tokens can be guessed by trying. */
const tokenLengthMin = 16;

const shortToken = ({ http, token, publicUrl }: Options): string[] =>
  token === null || token.length >= tokenLengthMin || http === null || isPrivate({ host: http.host, publicUrl })
    ? []
    : [
        `HTTP can be reached from other machines, and its token is shorter than ${tokenLengthMin} characters; "stopgate token" generates a longer one`,
      ];

/** Tells whether the process serves exactly one fleet, with which it starts and stops. */
export const isOneFleet = ({ fleets, shard }: Pick<Config, 'fleets' | 'shard'>): boolean =>
  fleets.names.length === 1 && fleets.patterns.length === 0 && shard === null;

/**
 * Reports tokens limited to workers but not to fleets. Agents choose worker ids per fleet: a token for the workers
 * `box-*` of one fleet must not reach those of other fleets by accident.
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
      return `${where}: token "${name}" has workers but no fleets, and this service has several fleets: add fleets: [${JSON.stringify(example)}], or fleets: ["*"] for these workers of every fleet`;
    });
}

/** Without `given`, selects only `fleet`. Otherwise an explicit `fleet` is served too, and comes first. */
export function selectFleets(
  { fleet, fleetIsGiven }: Pick<Config, 'fleet' | 'fleetIsGiven'>,
  given: FleetSelection | null,
): FleetSelection {
  if (given === null) return { names: [fleet], patterns: [] };
  return { ...given, names: [...new Set([...(fleetIsGiven ? [fleet] : []), ...given.names])] };
}

/**
 * For clients. If the folder's own service is down, the NATS server at the default address belongs to somebody else.
 * @throws AppError service.unreachable
 */
export function refuseOtherService({ natsIsDefault, store }: Pick<Config, 'natsIsDefault' | 'store'>): void {
  if (!natsIsDefault || store === null) return;
  const folder = dirname(store.folder);
  throw new AppError('service.unreachable', describeStopped(folder, 'a NATS server with --nats'));
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

/** A running service without HTTP has `http: null`. */
function valuesOfService(store: Store | null): Written {
  const service = store?.service ?? null;
  return service === null ? {} : { nats: service.nats, fleet: service.fleet, http: service.http ?? 'off' };
}

/**
 * `text` is null without a file. `problems`: why it could not be read. `unknownNames`: from a file that could be read.
 */
type OpenedFile = {
  readonly path: string;
  readonly text: string | null;
  /** The file exists, but is empty. */
  readonly isEmpty: boolean;
  readonly file: ConfigFile;
  readonly locate: Locate;
  readonly unknownNames: readonly string[];
  readonly problems: readonly ErrorIssue[];
};

/**
 * Opens the configuration file. If it has problems, `file` has the defaults, so that the other options are still
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
    // A named file may be a pipe, such as bash's <(…).
    text = origin === null ? readPlainFile(path) : readFileSync(path, 'utf8');
  } catch (cause) {
    // A dangling link counts as unreadable, not as absent: without its policies every stop would be allowed.
    const isAbsent = (cause as NodeJS.ErrnoException).code === 'ENOENT' && !isThere(path);
    if (origin === null && isAbsent) return { ...empty, text: null, problems: [] };
    const message = `cannot read '${path}': ${describeSystemError(cause)}`;
    return { ...empty, text: null, problems: [{ path: origin ?? 'stopgate.yaml', message }] };
  }
  // Imported on demand: YAML and the schemas take longer to load than everything else that a command needs.
  const { readConfigFile } = await import('./file-reader.ts');
  const read = readConfigFile(text, path);
  if (read.ok) return { path, text, ...read, problems: [] };
  const problems = read.problems.map((problem) => ({
    path: describePosition(problem, path),
    message: problem.message,
  }));
  return { ...empty, text, problems };
}

const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** Lists the names in a file that refer to nothing, each with its position and consequence. */
export const danglingNamesIn = (
  read: Pick<OpenedFile, 'file' | 'locate' | 'path' | 'unknownNames'>,
  env: Environment,
) => [...read.unknownNames, ...missingSecrets(read, env)];

/** Lists the secrets that a file refers to but that do not exist. */
export function missingSecrets(
  { file, locate, path }: Pick<OpenedFile, 'file' | 'locate' | 'path'>,
  env: Environment,
): string[] {
  const positionOf = (keys: Path) => describePosition(locate(keys), path);
  const tokens = readTokens(file.tokens, env).faults.map(
    ({ name, message }) => `${positionOf(['tokens', name])}: token "${name}": ${message}`,
  );
  const name = file.escalation?.webhook?.secretEnv ?? null;
  if (name === null || readVariable(name, env) !== undefined) return tokens;
  const unsigned = `variable "${name}" is not set, so webhooks cannot be signed`;
  return [`${positionOf(['escalation', 'webhook', 'secretEnv'])}: ${unsigned}`, ...tokens];
}
