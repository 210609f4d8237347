/** The options that flags, variables, stopgate.yaml and a running service can set, and their validation. */
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
  isPublicUrl,
  isToken,
  logLevels,
  natsFault,
  publicUrlFault,
  readHttpAddress,
  tokenFault,
} from './values.ts';

export type Options = {
  readonly nats: string;
  /** A path as written; null if not given (see `defaultCredentials`). */
  readonly creds: string | null;
  /** The fleet of commands, and the default fleet of HTTP requests. */
  readonly fleet: string;
  /** The fleets that a service serves; null for only `fleet`. */
  readonly fleets: FleetSelection | null;
  /** Null if a service serves all fleets. */
  readonly shard: Shard | null;
  /** Null if HTTP is off. */
  readonly http: HttpAddress | null;
  readonly token: string | null;
  /** The URL behind a proxy. Its path is the prefix that the proxy adds. Null if there is no proxy. */
  readonly publicUrl: string | null;
  /** Paths as written; null without TLS. */
  readonly tlsCert: string | null;
  readonly tlsKey: string | null;
  readonly replica: string;
  readonly logLevel: LogLevel;
};
export type Option = keyof Options;

/** The options as written; null or undefined if not given. */
export type Written = { readonly [Name in Option]?: string | null | undefined };
export type Source = { readonly values: Written; readonly nameOf: (option: Option) => string };

/** Checks all options and reports all problems at once. `options` is null if there are problems. */
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
  const message = `"${address}" can be reached from other machines and needs a token: set STOPGATE_TOKEN (or --token) to a long random word or "tokens" in stopgate.yaml, or use 127.0.0.1`;
  return { options, problems: [{ path: nameOf('http'), message }] };
}

/** With a certificate, HOST:PORT means HTTPS, unless the address has a scheme. */
function underTls({ http, tlsCert }: Options, written: string): Options['http'] {
  if (http === null || tlsCert === null || /^https?:/i.test(written)) return http;
  return { ...http, url: http.url.replace(/^http:/, 'https:') };
}

/** The value of the first source that has one. */
function firstOf(option: Option, sources: readonly Source[]) {
  for (const { values, nameOf } of sources) {
    const text = values[option] ?? null;
    if (text !== null) return { text, origin: nameOf(option) };
  }
  return undefined;
}

/** `read` returns undefined for an invalid text; `describe` explains why it is invalid. */
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
  publicUrl: rule(isPublicUrl, publicUrlFault),
  tlsCert: path,
  tlsKey: path,
  replica: rule(isId, idFault),
  logLevel: rule(isLogLevel, `is not ${logLevels.map((level) => `"${level}"`).join(' or ')}`),
};
const names = Object.keys(rules) as Option[];
