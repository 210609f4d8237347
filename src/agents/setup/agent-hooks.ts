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
import { type Change, openSettings, planEdit } from './settings-file.ts';
import type { PlanTools, SettableCap, SettingsSetup, Trust, Wish } from './setup.ts';

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
  /** What it keeps a plan with, likewise. */
  readonly planTools?: OwnVariable & { readonly read: (places: Places) => PlanTools };
  /** What lets it send its own telemetry to the service, likewise. Missing: its settings cannot. */
  readonly usage?: readonly (OwnVariable & { readonly valueFor: (line: Line) => string })[];
  /** Null: its hooks need no trust. */
  readonly trust: Trust | null;
};

export function createHookSetup(hooks: AgentHooks, program: Program): SettingsSetup {
  const { forms, scopes, waker, blockCap, planTools, usage, trust } = hooks;
  return {
    kind: 'settings',
    ...{ program, forms, scopes, trust },
    wakes: waker !== undefined,
    blockCap: blockCap ?? null,
    planTools: planTools?.read ?? null,
    sendsUsage: usage !== undefined,
    plan: (wish) => planHooks(hooks, wish),
  };
}

/** What is to stand in the settings. */
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
    if (!remove) return withBom(putHooks(text, settings), (json) => putVariables(json, hooks, wish));
    const bare = text === null ? null : withBom(text, (json) => takeVariables(json, hooks));
    return bare === null ? null : takeHooks(bare, settings);
  });
}

function putVariables(json: string, { blockCap, planTools, usage = [] }: AgentHooks, wish: Wish): string {
  const cap = wish.blockCap === undefined ? undefined : String(blockCap?.valueFor(wish.blockCap));
  const capped = blockCap === undefined ? json : putVariable(json, blockCap, cap);
  const planned = planTools !== undefined && wish.planTools ? putVariable(capped, planTools, '1') : capped;
  if (!wish.usage) return planned;
  return usage.reduce((text, variable) => putVariable(text, variable, variable.valueFor(wish.line)), planned);
}

/** Null: nothing is left of the file. */
const takeVariables = (json: string, { blockCap, planTools, usage = [] }: AgentHooks): string | null =>
  [...usage.toReversed(), planTools, blockCap].reduce<string | null>(
    (text, variable) => (text === null || variable === undefined ? text : takeVariable(text, variable)),
    json,
  );
