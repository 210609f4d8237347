/** The options that flags, variables, stopgate.yaml and a running service have in common, and what each must be. */
import { idFault, isId } from '../../machines/values/id.ts';
import type { ErrorIssue } from '../errors.ts';
import type { LogLevel } from '../log.ts';
import {
  type FleetSelection,
  fleetSelectionFault,
  readFleetSelection,
  readShard,
  type Shard,
  shardFault,
} from './fleet-selection.ts';
import {
  describeValue,
  type HttpAddress,
  httpFault,
  isLogLevel,
  isLoopback,
  isNatsUrl,
  isOriginUrl,
  isToken,
  logLevels,
  natsFault,
  originFault,
  readHttpAddress,
  tokenFault,
} from './values.ts';

export type Options = {
  readonly nats: string;
  /** A path as it was written; null: not given, see `defaultCredentials`. */
  readonly creds: string | null;
  /** The fleet of commands, and of requests over HTTP that name none. */
  readonly fleet: string;
  /** The fleets that a service serves; null: only `fleet`. */
  readonly fleets: FleetSelection | null;
  /** It is null if a service serves all of them. */
  readonly shard: Shard | null;
  /** It is null if there is no HTTP. */
  readonly http: HttpAddress | null;
  readonly token: string | null;
  /** Others reach it here, through a proxy; it has no path. It is null if they reach it only where it listens. */
  readonly publicUrl: string | null;
  /** Paths as they were written; null: HTTP is not encrypted. */
  readonly tlsCert: string | null;
  readonly tlsKey: string | null;
  readonly replica: string;
  readonly logLevel: LogLevel;
};
export type Option = keyof Options;

/** The options as they were written; null and undefined: not given. */
export type Written = { readonly [Name in Option]?: string | null | undefined };
export type Source = { readonly values: Written; readonly nameOf: (option: Option) => string };

/** All are checked at once, so that all problems are reported at once. `options` null: there are problems. */
export function resolveOptions(
  sources: readonly Source[],
  hasTokens: boolean,
): { options: Options | null; problems: ErrorIssue[] } {
  const given = new Map(names.map((name) => [name, firstOf(name, sources)]));
  const values = names.map((name) => {
    const text = given.get(name)?.text ?? null;
    return { name, text, value: text === null ? null : rules[name].read(text) };
  });
  const nameOf = (option: Option) => given.get(option)?.origin ?? option;
  const problems = values.flatMap(({ name, text, value }) =>
    value === undefined ? [{ path: nameOf(name), message: rules[name].describe(text ?? '') }] : [],
  );
  if (problems.length > 0) return { options: null, problems };
  const read = Object.fromEntries(values.map(({ name, value }) => [name, value])) as unknown as Options;
  const options = { ...read, http: underTls(read, given.get('http')?.text ?? '') };
  if (options.http === null || options.token !== null || hasTokens || isLoopback(options.http.host))
    return { options, problems };
  const address = given.get('http')?.text;
  const message = `"${address}" can be reached from other machines, so it needs a token: set STOPGATE_TOKEN (or --token) to a long random word or "tokens" in stopgate.yaml, or use 127.0.0.1`;
  return { options, problems: [{ path: nameOf('http'), message }] };
}

/** Completes the address: a service with a certificate speaks HTTPS at its HOST:PORT, unless a scheme is written. */
function underTls({ http, tlsCert }: Options, written: string): Options['http'] {
  if (http === null || tlsCert === null || /^https?:/i.test(written)) return http;
  return { ...http, url: http.url.replace(/^http:/, 'https:') };
}

/** The first source that has it. */
function firstOf(option: Option, sources: readonly Source[]) {
  for (const { values, nameOf } of sources) {
    const text = values[option] ?? null;
    if (text !== null) return { text, origin: nameOf(option) };
  }
  return undefined;
}

/** `read` gives undefined for an invalid text; `describe` explains it. */
type Rule<Value> = {
  readonly read: (text: string) => Value | undefined;
  readonly describe: (text: string) => string;
};

const rule = <Text extends string>(is: (text: string) => boolean, fault: string): Rule<Text> => ({
  read: (text) => (is(text) ? (text as Text) : undefined),
  describe: (text) => `${describeValue(text)} ${fault}`,
});

const path = rule((text) => text !== '', 'is not the path of a file');
const rules: { readonly [Name in Option]: Rule<Options[Name]> } = {
  nats: rule(isNatsUrl, natsFault),
  creds: path,
  fleet: rule(isId, idFault),
  fleets: { read: readFleetSelection, describe: (text) => `${describeValue(text)} ${fleetSelectionFault}` },
  shard: { read: readShard, describe: (text) => `${describeValue(text)} ${shardFault}` },
  http: { read: readHttpAddress, describe: (text) => `${describeValue(text)} ${httpFault}` },
  token: { read: (text) => (isToken(text) ? text : undefined), describe: () => tokenFault },
  publicUrl: rule(isOriginUrl, originFault),
  tlsCert: path,
  tlsKey: path,
  replica: rule(isId, idFault),
  logLevel: rule(isLogLevel, `is not ${logLevels.map((level) => `"${level}"`).join(' or ')}`),
};
const names = Object.keys(rules) as Option[];
