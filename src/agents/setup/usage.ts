/**
 * Makes an agent report its usage to the service through its own telemetry (docs/agents/usage.md). Depending on the
 * agent, this is set with variables in "env" of its settings, an object "telemetry" in them, a separate file, or its
 * environment.
 */
import { isDeepStrictEqual } from 'node:util';
import { getNodeValue, type Node } from 'jsonc-parser';
import { z } from 'zod';
import { type OwnVariable, putVariable, readHooks, removeVariable, valueIn } from './hook-settings.ts';
import { append, childOf, parseJson, propertyOf, readJson, remove, SyntaxProblem } from './json-edit.ts';
import { isOurs, type Line } from './line.ts';
import type { LocalContext, Scope } from './local-context.ts';
import { readText } from './settings-file.ts';

export type UsageSetup = {
  /** The scopes of settings that can name the receiver. */
  readonly scopes: readonly Scope[];
  /** Edits the settings file that contains the hooks. Null if usage is set elsewhere. */
  readonly settings: UsageSettings | null;
  /** The environment variables to set, if settings cannot do it. Otherwise null. */
  readonly environment: ((line: Pick<Line, 'http' | 'fleet'>) => Readonly<Record<string, string>>) | null;
  /** Where it reports its usage now, by settings and environment. Null if nowhere, or over another protocol. */
  readonly target: (places: LocalContext) => string | null;
  /** True if it also reports dollars. */
  readonly inDollars: boolean;
};

/** Edits the text of a settings file. Every function may throw a SyntaxProblem. */
export type UsageSettings = {
  /** True if `init` has set it. */
  readonly isOurs: (text: string) => boolean;
  /** @param replaces true if the present value is ours and may be replaced */
  readonly put: (text: string, line: Line, replaces: boolean) => string;
  /** Removes our settings. Returns null if the file would be empty. */
  readonly remove: (text: string, line: Line) => string | null;
};

/**
 * The address for a signal such as `/v1/logs`. With an empty `path`, the base to which the agent appends the signal.
 */
export const receiverFor = ({ http, fleet }: Pick<Line, 'http' | 'fleet'>, path: string): string =>
  `${http}${path}${fleet === undefined ? '' : `${path === '' ? '/' : ''}?fleet=${fleet}`}`;

type UsageVariable = OwnVariable & { readonly valueFor: (line: Line) => string };

/** Usage settings made of variables in "env". */
export const usageVariables = (variables: readonly UsageVariable[]): UsageSettings => ({
  isOurs: (text) => variables.some(({ mark }) => valueIn(text, mark) !== undefined),
  put: (text, line) =>
    variables.reduce((edited, variable) => putVariable(edited, variable, variable.valueFor(line)), text),
  remove: (text) =>
    variables
      .toReversed()
      .reduce<string | null>((edited, variable) => (edited === null ? edited : removeVariable(edited, variable)), text),
});

const key = 'telemetry';

/**
 * The telemetry settings of Gemini CLI and Qwen Code. Prompts are excluded: they would be sent with each request, and
 * we do not read them.
 */
const telemetryFor = (line: Line) => ({
  enabled: true,
  otlpEndpoint: receiverFor(line, ''),
  otlpProtocol: 'http',
  logPrompts: false,
});

/**
 * Usage settings in the object "telemetry". It cannot hold a mark, so it counts as ours if it has exactly the form that
 * we write and names the service of the hooks in the same file, or the one of this call.
 */
const telemetryObject = (agent: string): UsageSettings => ({
  isOurs: (text) => isOurTelemetry(agent, text),
  put(text, line, replaces) {
    const found = propertyOf(parseJson(text), key);
    const wanted = telemetryFor(line);
    // A copy, because parsed objects have no prototype, which would count as a difference.
    if (found !== undefined && isDeepStrictEqual({ ...(partOf(found) as object) }, wanted)) return text;
    if (found !== undefined && !replaces)
      throw new SyntaxProblem(`"${key}" is already set to a different value; change it there`, found.offset);
    const bare = found === undefined ? text : (remove(text, found) ?? '{}');
    return append(bare, parseJson(bare), key, wanted);
  },
  remove: (text, line) =>
    isOurTelemetry(agent, text, line) ? remove(text, propertyOf(parseJson(text), key) as Node) : text,
});

function isOurTelemetry(agent: string, text: string, line?: Line): boolean {
  const { otlpEndpoint, ...others } = (partOf(propertyOf(parseJson(text), key)) ?? {}) as Record<string, unknown>;
  if (typeof otlpEndpoint !== 'string' || !URL.canParse(otlpEndpoint)) return false;
  const { otlpEndpoint: _, ...ours } = telemetryFor({ http: '' } as Line);
  const { host } = new URL(otlpEndpoint);
  const hasHook = readHooks(text).some(({ value }) => isOurs(agent, value) && JSON.stringify(value).includes(host));
  const isNamed = line !== undefined && otlpEndpoint === telemetryFor(line).otlpEndpoint;
  return isDeepStrictEqual(others, ours) && (hasHook || isNamed);
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
  /** The prefix of its environment variables. */
  readonly prefix: string;
  readonly file: (scope: Scope, places: LocalContext) => string;
};

/** For Gemini CLI and Qwen Code. Tested with 0.61.0 and 0.24.4. */
export const telemetryUsage = ({ agent, prefix, file }: Telemetry): UsageSetup => ({
  scopes: ['project', 'user'],
  settings: telemetryObject(agent),
  environment: null,
  // Project settings override user settings, and environment variables override both.
  target(places) {
    const { env } = places;
    const read = (scope: Scope) => telemetrySchema.safeParse(readJsonFile(file(scope, places))).data?.telemetry;
    const set = { ...read('user'), ...read('project') };
    const enabled = env[`${prefix}_TELEMETRY_ENABLED`];
    const isOn = enabled === undefined ? set.enabled : /^(?:1|true)$/i.test(enabled);
    if (!isOn || (env[`${prefix}_TELEMETRY_OTLP_PROTOCOL`] ?? set.otlpProtocol) !== 'http') return null;
    return env[`${prefix}_TELEMETRY_OTLP_ENDPOINT`] ?? env.OTEL_EXPORTER_OTLP_ENDPOINT ?? set.otlpEndpoint ?? null;
  },
  inDollars: false,
});

/** Returns an empty object if the file cannot be read: `init` and `doctor` report that elsewhere. */
export function readJsonFile(file: string): unknown {
  try {
    return readJson(readText(file) ?? '{}');
  } catch {
    return {};
  }
}
