/** The hooks of one agent in its settings, as `init` writes and removes them. */
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
import { type Form, isOurs, type Line } from './line.ts';
import { type Places, type Program, rootOf, type Scope } from './places.ts';
import { type Change, openSettings, planEdit, type SettingsFile } from './settings-file.ts';
import type { PlanTools, SettableCap, SettingsSetup, Trust, Wish } from './setup.ts';
import type { UsageSetup } from './usage.ts';

export type AgentHooks = {
  /** The agent's name. */
  readonly agent: string;
  readonly forms: readonly Form[];
  readonly scopes: readonly Scope[];
  /** The settings file. */
  readonly file: (scope: Scope, places: Places) => string;
  readonly events: (form: Form) => readonly HookEvent[];
  /** Does each handler stand within `{ "hooks": [ … ] }`? */
  readonly grouped: boolean;
  /** Beside `hooks`, in a file that we create. */
  readonly head: object;
  readonly handler: (event: HookEvent, line: Line) => object;
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
  /** It is null if its hooks need no trust. */
  readonly trust: Trust | null;
};

export function createHookSetup(hooks: AgentHooks, program: Program): SettingsSetup {
  const { forms, scopes, waker, blockCap, planTools, usage, planConfig, trust } = hooks;
  return {
    kind: 'settings',
    ...{ program, forms, scopes, trust },
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
export function settingsFor({ agent, events, grouped, head, handler, waker }: AgentHooks, line: Line): HookSettings {
  const handlers = events(line.form).map((event) => [event.name, handler(event, line)] as const);
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
