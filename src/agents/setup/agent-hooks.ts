/** The hooks of one agent in its settings, as `init` writes and removes them. */
import type { HookAgent } from '../../hook-command/agent.ts';
import type { HookEvent } from './hook-events.ts';
import {
  type HookSettings,
  type OwnVariable,
  putHooks,
  putVariable,
  takeHooks,
  takeVariable,
  withBom,
} from './hook-settings.ts';
import { type Form, formatCommand, formatUrl, isOurs, isPosted, type Line } from './line.ts';
import { type Places, type Program, rootOf, type Scope } from './places.ts';
import { type Change, openSettings, planEdit, type SettingsFile } from './settings-file.ts';
import type { PlanTools, SettableCap, SettingsSetup, Trust, Wish } from './setup.ts';
import type { UsageSetup } from './usage.ts';

export type AgentHooks = {
  /** The agent's name. */
  readonly agent: string;
  readonly hook: HookAgent;
  readonly program: Program;
  readonly forms: readonly Form[];
  readonly scopes: readonly Scope[];
  /** The settings file. */
  readonly file: (scope: Scope, places: Places) => string;
  readonly events: (form: Form) => readonly HookEvent[];
  /** Does each handler stand within `{ "hooks": [ … ] }`? */
  readonly grouped: boolean;
  /** Beside `hooks`, in a file that we create; missing: nothing. */
  readonly head?: object;
  /** `command`: the line to run, with further options of the hook command. */
  readonly handler: (event: HookEvent, line: Line, command: (options?: string) => string) => object;
  /** One more hook, beside the stop's own. Missing: nothing wakes the agent. */
  readonly waker?: (line: Line) => readonly [event: string, handler: object];
  /** Its own cap of blocks, in "env" of the same file. Missing: it has none there. */
  readonly blockCap?: OwnVariable & SettableCap & { readonly valueFor: (blocks: number) => number };
  /** The variable that switches its plan tools on, likewise. */
  readonly planTools?: OwnVariable & { readonly read: (places: Places) => PlanTools };
  /** Lets it send its usage; missing if it cannot. */
  readonly usage?: UsageSetup;
  /**
   * Plans the change to a second file of its settings; `hooks` is the first. It returns null if nothing belongs there.
   */
  readonly planConfig?: (wish: Wish, hooks: SettingsFile) => Change | null;
  /** Missing: its hooks need no trust. */
  readonly trust?: Trust;
};

export function createHookSetup(hooks: AgentHooks): SettingsSetup {
  const { program, forms, scopes, waker, blockCap, planTools, usage, planConfig, trust = null } = hooks;
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
    plan(wish) {
      const change = planHooks(hooks, wish);
      const config = planConfig?.(wish, change.file) ?? null;
      return config === null ? [change] : [change, config];
    },
  };
}

/** Makes the hooks that are to stand in the settings. */
export function settingsFor(hooks: AgentHooks, line: Line): HookSettings {
  const { agent, hook, events, grouped, head = {}, handler, waker } = hooks;
  const handlers = events(line.form).map((event) => {
    const command = (options?: string) => formatCommand({ agent, hook }, event, line, options);
    return [event.name, handler(event, line, command)] as const;
  });
  const wakers = line.wake && waker !== undefined ? [waker(line)] : [];
  return { events: [...handlers, ...wakers], grouped, head, isOurs: (found) => isOurs(agent, found) };
}

function planHooks(hooks: AgentHooks, wish: Wish): Change {
  const { scope, places, line, remove } = wish;
  const path = hooks.file(scope, places);
  const file = openSettings(path, rootOf(path, scope, places));
  const settings = settingsFor(hooks, line);
  return planEdit(file, (text) => {
    if (!remove) {
      // What it sends follows the hooks to another address.
      const isSet = text !== null && hooks.usage?.settings?.isOurs(text.replace(/^\uFEFF/, '')) === true;
      return withBom(putHooks(text, settings), (json) => putUsage(putVariables(json, hooks, wish), hooks, wish, isSet));
    }
    const bare = text === null ? null : withBom(text, (json) => takeVariables(json, hooks));
    return bare === null ? null : takeHooks(bare, settings);
  });
}

function putVariables(json: string, { blockCap, planTools }: AgentHooks, wish: Wish): string {
  const cap = wish.blockCap === undefined ? undefined : String(blockCap?.valueFor(wish.blockCap));
  const capped = blockCap === undefined ? json : putVariable(json, blockCap, cap);
  return planTools !== undefined && wish.planTools ? putVariable(capped, planTools, '1') : capped;
}

function putUsage(json: string, { usage }: AgentHooks, wish: Wish, isSet: boolean): string {
  const settings = usage?.settings ?? null;
  return settings !== null && (wish.usage || isSet) ? settings.put(json, wish.line, isSet) : json;
}

/** Returns null if nothing is left of the file. */
const takeVariables = (json: string, { blockCap, planTools, usage }: AgentHooks): string | null =>
  [planTools, blockCap].reduce<string | null>(
    (text, variable) => (text === null || variable === undefined ? text : takeVariable(text, variable)),
    usage?.settings ? usage.settings.take(json) : json,
  );

/** The handler of an agent that can also post by itself. @param spellVariable how its headers name a variable */
export function postOrRun(
  agent: string,
  event: HookEvent,
  line: Line,
  command: () => string,
  spellVariable: (name: string) => string,
  more: object = {},
): object {
  const timeout = event.seconds;
  if (!isPosted(line.form, event)) return { type: 'command', ...more, command: command(), timeout };
  const { tokenEnv } = line;
  const token =
    tokenEnv === undefined
      ? {}
      : { headers: { Authorization: `Bearer ${spellVariable(tokenEnv)}` }, allowedEnvVars: [tokenEnv] };
  return { type: 'http', ...more, url: formatUrl(agent, event, line, false), ...token, timeout };
}
