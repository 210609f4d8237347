/** Writes and removes one agent's hooks in its settings, for `init`. */
import type { HookAgent } from '../../hook-command/agent.ts';
import type { HookEvent } from './hook-events.ts';
import {
  type HookFormat,
  type HookSettings,
  jsonHooks,
  type OwnVariable,
  putVariable,
  removeVariable,
  withBom,
} from './hook-settings.ts';
import { type Form, formatCommand, formatUrl, isOurs, isPosted, type Line } from './line.ts';
import { type LocalContext, type Program, rootOf, type Scope } from './local-context.ts';
import { type Change, openSettings, planEdit, readText, type SettingsFile } from './settings-file.ts';
import type { ConnectedScope, PlanTools, SettableCap, SettingsSetup, SetupRequest, Trust } from './setup.ts';
import type { UsageSetup } from './usage.ts';

export type AgentHooks = {
  readonly agent: string;
  readonly hook: HookAgent;
  readonly program: Program;
  readonly forms: readonly Form[];
  readonly scopes: readonly Scope[];
  /** Returns the path of the settings file. */
  readonly file: (scope: Scope, places: LocalContext) => string;
  readonly events: (form: Form) => readonly HookEvent[];
  /** True if each handler is wrapped in `{ "hooks": [ … ] }`. */
  readonly grouped: boolean;
  /** Properties next to `hooks` in a file that we create. */
  readonly head?: object;
  /** Default: lists by event, under `hooks` in JSON. */
  readonly format?: HookFormat;
  /**
   * Creates the hook of an event. `command` formats the command to run, with additional options of the hook command.
   */
  readonly handler: (event: HookEvent, line: Line, command: (options?: string) => string) => object;
  /** Creates an additional hook that wakes the agent. Missing if the agent cannot be woken. */
  readonly waker?: (line: Line) => readonly [event: string, handler: object];
  /** The variable in "env" of the settings that limits consecutive blocks. Missing if there is none. */
  readonly blockCap?: OwnVariable & SettableCap & { readonly valueFor: (blocks: number) => number };
  /** The variable in "env" of the settings that turns the plan tools on. */
  readonly planTools?: OwnVariable & { readonly read: (places: LocalContext) => PlanTools };
  /** How to make the agent report its usage. Missing if it cannot. */
  readonly usage?: UsageSetup;
  /** Plans the change of a second settings file. Returns null if it needs none. @param hooks the file with the hooks */
  readonly planConfig?: (request: SetupRequest, hooks: SettingsFile) => Change | null;
  /** Missing if its hooks need no trust. */
  readonly trust?: Trust;
  /** Tells a person which other programs run the hooks of its settings. */
  readonly alsoRunBy?: (line: Line) => string | null;
};

export function createHookSetup(hooks: AgentHooks): SettingsSetup {
  const { program, forms, scopes, waker, blockCap, planTools, usage, planConfig, trust = null, alsoRunBy } = hooks;
  return {
    kind: 'settings',
    program,
    forms,
    scopes,
    trust,
    wakes: waker !== undefined,
    blockCap: blockCap ?? null,
    planTools: planTools?.read ?? null,
    usage: usage ?? null,
    connected: (places) => findConnected(hooks, places),
    ...(alsoRunBy === undefined ? {} : { alsoRunBy }),
    plan(request) {
      const change = planHooks(hooks, request);
      const config = planConfig?.(request, change.file) ?? null;
      return config === null ? [change] : [change, config];
    },
  };
}

const defaultFormat = jsonHooks();

export const formatOf = ({ format = defaultFormat }: Pick<AgentHooks, 'format'>): HookFormat => format;

/** A file that cannot be read counts as not connected: `plan` and the doctor report it. */
function findConnected(hooks: AgentHooks, places: LocalContext): ConnectedScope[] {
  const { agent, scopes, file } = hooks;
  const { read, load = readText } = formatOf(hooks);
  const all = scopes.map((scope) => ({ scope, file: file(scope, places) }));
  return all.filter(({ file: path }, index) => {
    // If the project is the home folder, both scopes are the same file.
    if (all.findIndex(({ file: other }) => other === path) !== index) return false;
    try {
      const text = load(path);
      return text !== null && read(text).some(({ value }) => isOurs(agent, value));
    } catch {
      return false;
    }
  });
}

/** Creates the hooks to write into the settings. */
export function settingsFor(hooks: AgentHooks, line: Line): HookSettings {
  const { agent, hook, events, grouped, head = {}, handler, waker } = hooks;
  const handlers = events(line.form).map((event) => {
    const command = (options?: string) => formatCommand({ agent, hook }, event, line, options);
    return [event.name, handler(event, line, command)] as const;
  });
  const wakers = line.wake && waker !== undefined ? [waker(line)] : [];
  return { events: [...handlers, ...wakers], grouped, head, isOurs: (other) => isOurs(agent, other) };
}

function planHooks(hooks: AgentHooks, request: SetupRequest): Change {
  const { scope, places, line, remove } = request;
  const path = hooks.file(scope, places);
  const file = openSettings(path, rootOf(path, scope, places));
  const settings = settingsFor(hooks, line);
  const format = formatOf(hooks);
  return planEdit(file, (text) => {
    if (remove) {
      const bare = text === null ? null : withBom(text, (json) => removeVariables(json, hooks, line));
      return bare === null ? null : format.remove(bare, settings);
    }
    // If we set up usage reporting before, it follows the hooks to the new address.
    const isSet = text !== null && hooks.usage?.settings?.isOurs(text.replace(/^\uFEFF/, '')) === true;
    if (request.usage) {
      if (hooks.usage?.settings == null) return text;
      return withBom(text ?? '{}\n', (json) => putUsage(json, hooks, request, isSet));
    }
    return withBom(format.put(text, settings), (json) =>
      putUsage(putVariables(json, hooks, request), hooks, request, isSet),
    );
  });
}

function putVariables(json: string, { blockCap, planTools }: AgentHooks, request: SetupRequest): string {
  const cap = request.blockCap === undefined ? undefined : String(blockCap?.valueFor(request.blockCap));
  const capped = blockCap === undefined ? json : putVariable(json, blockCap, cap);
  return planTools !== undefined && request.planTools ? putVariable(capped, planTools, '1') : capped;
}

function putUsage(json: string, { usage }: AgentHooks, request: SetupRequest, isSet: boolean): string {
  const settings = usage?.settings ?? null;
  return settings !== null && (request.usage || isSet) ? settings.put(json, request.line, isSet) : json;
}

/** Returns null if the file would be empty. */
const removeVariables = (json: string, { blockCap, planTools, usage }: AgentHooks, line: Line): string | null =>
  [planTools, blockCap].reduce<string | null>(
    (text, variable) => (text === null || variable === undefined ? text : removeVariable(text, variable)),
    usage?.settings ? usage.settings.remove(json, line) : json,
  );

/**
 * Creates the hook of an agent that can also post over HTTP: a URL or a command, depending on the form.
 * @param variableReference how the agent's headers refer to an environment variable
 */
export function httpOrCommandHandler(
  agent: string,
  event: HookEvent,
  line: Line,
  command: () => string,
  variableReference: (name: string) => string,
  extra: object = {},
): object {
  const timeout = event.seconds;
  if (!isPosted(line.form, event)) return { type: 'command', ...extra, command: command(), timeout };
  const { tokenEnv } = line;
  const token =
    tokenEnv === undefined
      ? {}
      : { headers: { Authorization: `Bearer ${variableReference(tokenEnv)}` }, allowedEnvVars: [tokenEnv] };
  return { type: 'http', ...extra, url: formatUrl(agent, event, line, false), ...token, timeout };
}
