/**
 * Lets an agent send its usage to the service, by its own telemetry (docs/agents/usage.md): variables in "env" of its
 * settings, an object "telemetry" in them, a file of its own, or its environment alone.
 */
import { isDeepStrictEqual } from 'node:util';
import { getNodeValue, type Node } from 'jsonc-parser';
import { z } from 'zod';
import { type OwnVariable, putVariable, readHooks, takeVariable, valueIn } from './hook-settings.ts';
import { append, childOf, parseJson, propertyOf, remove, SyntaxProblem } from './json-edit.ts';
import { isOurs, type Line } from './line.ts';
import type { Places, Scope } from './places.ts';
import { readText } from './settings-file.ts';

export type UsageSetup = {
  /** The settings from which it takes where to send. */
  readonly scopes: readonly Scope[];
  /** In the settings file that has its hooks. Null: elsewhere. */
  readonly settings: UsageSettings | null;
  /** Returns what its environment must have, since no settings can say it; null if nothing. */
  readonly environment: ((line: Pick<Line, 'http' | 'fleet'>) => Readonly<Record<string, string>>) | null;
  /**
   * Returns where it sends its usage now, by its settings and its environment; null if that is nowhere that we could
   * listen.
   */
  readonly target: (places: Places) => string | null;
  /** Does it report dollars, too? */
  readonly inDollars: boolean;
};

/** Text in, text out. All may throw a SyntaxProblem. */
export type UsageSettings = {
  /** Has `init` put it there? `text`: the file as it was before. */
  readonly isOurs: (text: string) => boolean;
  /** @param replaces what stands there is ours, and may be another address */
  readonly put: (text: string, line: Line, replaces: boolean) => string;
  /** Takes out what is ours. Null: nothing is left of the file. */
  readonly take: (text: string) => string | null;
};

/** The address of a signal, or with `path` empty the one to which the agent appends it. */
export const receiverFor = ({ http, fleet }: Pick<Line, 'http' | 'fleet'>, path: string): string =>
  `${http}${path}${fleet === undefined ? '' : `${path === '' ? '/' : ''}?fleet=${fleet}`}`;

type UsageVariable = OwnVariable & { readonly valueFor: (line: Line) => string };

/** Variables in "env". */
export const usageVariables = (variables: readonly UsageVariable[]): UsageSettings => ({
  isOurs: (text) => variables.some(({ mark }) => valueIn(text, mark) !== undefined),
  put: (text, line) => variables.reduce((edited, it) => putVariable(edited, it, it.valueFor(line)), text),
  take: (text) =>
    variables
      .toReversed()
      .reduce<string | null>((edited, it) => (edited === null ? edited : takeVariable(edited, it)), text),
});

const key = 'telemetry';

/**
 * The telemetry settings of Gemini CLI and of Qwen Code. Prompts stay out of it: they would be sent with each request,
 * and are read by nobody.
 */
const telemetryFor = (line: Line) => ({
  enabled: true,
  otlpEndpoint: receiverFor(line, ''),
  otlpProtocol: 'http',
  logPrompts: false,
});

/**
 * The object "telemetry". It has no room for a mark of ours: it is ours if it has the form that we write, and the hooks
 * of the same file call the same service.
 */
const telemetryObject = (agent: string): UsageSettings => ({
  isOurs: (text) => isOurTelemetry(agent, text),
  put(text, line, replaces) {
    const found = propertyOf(parseJson(text), key);
    const wanted = telemetryFor(line);
    if (isDeepStrictEqual(partOf(found), wanted)) return text;
    if (found !== undefined && !replaces)
      throw new SyntaxProblem(`"${key}" is set already, to something else: change it there`, found.offset);
    const bare = found === undefined ? text : (remove(text, found) ?? '{}');
    return append(bare, parseJson(bare), key, wanted);
  },
  take: (text) => (isOurTelemetry(agent, text) ? remove(text, propertyOf(parseJson(text), key) as Node) : text),
});

function isOurTelemetry(agent: string, text: string): boolean {
  const { otlpEndpoint, ...others } = (partOf(propertyOf(parseJson(text), key)) ?? {}) as Record<string, unknown>;
  if (typeof otlpEndpoint !== 'string' || !URL.canParse(otlpEndpoint)) return false;
  const { otlpEndpoint: _, ...ours } = telemetryFor({ http: '' } as Line);
  const { host } = new URL(otlpEndpoint);
  const callsIt = readHooks(text).some(({ value }) => isOurs(agent, value) && JSON.stringify(value).includes(host));
  return isDeepStrictEqual(others, ours) && callsIt;
}

const partOf = (property: Node | undefined): unknown => {
  const value = childOf(property);
  return value === undefined ? undefined : getNodeValue(value);
};

const telemetrySchema = z.object({
  telemetry: z.looseObject({
    enabled: z.boolean().optional(),
    otlpEndpoint: z.string().optional(),
    otlpProtocol: z.string().optional(),
  }),
});

type Telemetry = {
  readonly agent: string;
  /** Its variables begin with this. */
  readonly prefix: string;
  readonly file: (scope: Scope, places: Places) => string;
};

/** Gemini CLI and Qwen Code. Seen with 0.61.0 and 0.24.4. */
export const telemetryUsage = ({ agent, prefix, file }: Telemetry): UsageSetup => ({
  scopes: ['project', 'user'],
  settings: telemetryObject(agent),
  environment: null,
  // The project's settings go before the user's, variables before both.
  target(places) {
    const { env } = places;
    const read = (scope: Scope) => telemetrySchema.safeParse(readSettings(file(scope, places))).data?.telemetry;
    const set = { ...read('user'), ...read('project') };
    const enabled = env[`${prefix}_TELEMETRY_ENABLED`];
    const isOn = enabled === undefined ? set.enabled : /^(?:1|true)$/i.test(enabled);
    if (!isOn || (env[`${prefix}_TELEMETRY_OTLP_PROTOCOL`] ?? set.otlpProtocol) !== 'http') return null;
    return env[`${prefix}_TELEMETRY_OTLP_ENDPOINT`] ?? env.OTEL_EXPORTER_OTLP_ENDPOINT ?? set.otlpEndpoint ?? null;
  },
  inDollars: false,
});

/** Reads settings. A file that cannot be read says nothing: `init` and `doctor` report it by themselves. */
export function readSettings(file: string): unknown {
  try {
    return getNodeValue(parseJson((readText(file) ?? '{}').replace(/^\uFEFF/, '')));
  } catch {
    return {};
  }
}
