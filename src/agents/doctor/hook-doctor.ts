/** The doctor of an agent that has our hooks in JSON settings. */
import { type AgentHooks, settingsFor } from '../setup/agent-hooks.ts';
import { type FoundHook, putHooks } from '../setup/hook-settings.ts';
import { hookProgram, isOurs, type Line, posters } from '../setup/line.ts';
import type { Places, Scope } from '../setup/places.ts';
import { type Answer, bad, type Checks, runChecks, warn } from './check.ts';
import type { CheckContext, Connection, Doctor } from './doctor.ts';
import { type DryTurn, tryTurn } from './dry-turn.ts';
import {
  checkAddress,
  checkEvents,
  checkLines,
  checkPolicyNames,
  checkToken,
  isPostLine,
  lineOf,
} from './hook-checks.ts';
import { checkProgram, type Hooked, initCommand, type ReadSettings, readSettings } from './hooked.ts';
import { checkCap, checkTimes, type Limits } from './limit-checks.ts';
import { tokenVariableIn } from './session.ts';
import { checkUsage } from './usage-checks.ts';
import { checkPlanTools } from './worker-checks.ts';

/** Everything that the doctor has to know of the agent, besides its hooks. */
export type HookChecks = {
  readonly limits: Limits;
  /** It is null if it is not known how to run a turn of its program. */
  readonly dryTurn: DryTurn | null;
  /** More settings that may have our hooks. */
  readonly moreFiles?: (places: Places) => readonly (readonly [scope: string, file: string])[];
  /** Hooks that stand elsewhere than in settings. `values`: the parsed settings; later ones override earlier ones. */
  readonly findMore?: (values: readonly unknown[], places: Places) => Hooked | null;
  /** `hooks`: all of a settings file, those of others too. */
  readonly checkSettings?: (file: string, hooks: readonly FoundHook[]) => readonly Answer[];
  readonly checkHooked?: (hooked: Hooked, context: CheckContext) => Promise<readonly Answer[]>;
};

export function createHookDoctor(hooks: AgentHooks, checks: HookChecks): Doctor {
  return {
    find(places) {
      const { hooked, problems } = findHooks(hooks, checks, places);
      return {
        scopes: hooked.map(({ scope }) => scope),
        problems,
        lines: hooked.flatMap((one) => one.hooks.map(({ value }) => JSON.stringify(value))),
        check: async (context) => [
          await checkProgram(context),
          ...(await checkConnection(hooks, checks, hooked, context)),
        ],
        dryTurn: createDryTurn(hooks, checks, hooked),
      };
    },
  };
}

function findHooks(
  hooks: AgentHooks,
  { moreFiles, findMore, checkSettings }: HookChecks,
  places: Places,
): { hooked: readonly Hooked[]; problems: readonly Answer[] } {
  const { agent, scopes } = hooks;
  const own = scopes.map((scope: Scope) => [scope, hooks.file(scope, places)] as const);
  // In the home folder, the project's settings are the user's.
  const files = [...own, ...(moreFiles?.(places) ?? [])].filter(
    ([, file], index, all) => all.findIndex(([, other]) => other === file) === index,
  );
  const read = files.map(([scope, file]): [string, string, ReadSettings] => [
    scope,
    file,
    readSettings({ scope, file }, (handler) => isOurs(agent, handler)),
  ]);
  const values = ['user', 'project', 'local'].map((scope) => read.find(([name]) => name === scope)?.[2].value);
  const more = findMore?.(values, places) ?? null;
  return {
    hooked: [...read.flatMap(([, , { hooked }]) => hooked ?? []), ...(more === null ? [] : [more])],
    problems: read.flatMap(([, file, { problems, hooks: all }]) => [
      ...problems,
      ...(checkSettings?.(file, all) ?? []),
    ]),
  };
}

/** One place with our hooks. */
type HookedSubject = {
  readonly hooks: AgentHooks;
  readonly checks: HookChecks;
  readonly hooked: Hooked;
  readonly context: CheckContext;
};

const hookedChecks: Checks<HookedSubject> = {
  policyNames: ({ hooks: { agent }, hooked, context }) =>
    checkPolicyNames(agent, hooked, hooked.hooks.map(lineOf), context.policies),
  address: ({ hooks: { agent }, hooked, context }) => checkAddress(agent, hooked, context.url),
  events: ({ hooks, checks: { limits }, hooked }) => checkEvents(hooks, limits.stopEvent, hooked),
  lines: ({ hooks: { agent }, checks: { limits }, hooked }) => checkLines(agent, limits.stopEvent, hooked),
  token: ({ hooks: { agent }, hooked, context: { needsToken, places } }) =>
    needsToken ? checkToken(agent, hooked, places) : [],
  times: ({ checks: { limits }, hooked, context }) => checkTimes(limits, hooked, context.policies ?? new Map()),
  ownOfAgent: ({ checks: { checkHooked }, hooked, context }) => checkHooked?.(hooked, context) ?? [],
};

/** An agent with its hooks, in the first of the places that have them, and in all. */
type AgentSubject = Omit<HookedSubject, 'hooked'> & { readonly first: Hooked; readonly all: readonly Hooked[] };

const agentChecks: Checks<AgentSubject> = {
  once: ({ hooks: { agent }, first, all }) => {
    if (all.length === 1) return [];
    const scopes = all.map(({ scope }) => scope).join(' and ');
    const option = first.scope === 'user' ? '--user' : '--project';
    return warn(
      `our hooks are in the ${scopes} settings: each call comes ${all.length} times`,
      `stopgate init ${agent} ${option} --remove`,
    );
  },
  eachPlace: async ({ all, ...subject }) => {
    const found: Answer[] = [];
    for (const hooked of all) found.push(...(await runChecks(hookedChecks, { ...subject, hooked })));
    return found;
  },
  planTools: ({ hooks: { agent, planTools }, first, context: { places, policies } }) =>
    planTools === undefined
      ? []
      : checkPlanTools(planTools.read(places), policies ?? new Map(), initCommand(agent, first)),
  usage: ({ hooks: { agent, usage }, first, context }) => checkUsage(context, usage ?? null, initCommand(agent, first)),
  blockCap: ({ hooks: { agent }, checks: { limits }, all, context: { places, policies } }) =>
    checkCap(agent, limits.blockCap, all, { places, policies: policies ?? new Map() }),
};

async function checkConnection(
  hooks: AgentHooks,
  checks: HookChecks,
  all: readonly Hooked[],
  context: CheckContext,
): Promise<Answer[]> {
  const [first] = all;
  if (first === undefined)
    return [bad('its settings have no hook of stopgate, so no stop is judged', `stopgate init ${hooks.agent}`)];
  return runChecks(agentChecks, { hooks, checks, context, first, all });
}

/** In the form of the hooks that are there. Without hooks, in the first form of the agent. */
function createDryTurn(
  hooks: AgentHooks,
  { dryTurn, limits }: HookChecks,
  hooked: readonly Hooked[],
): Connection['dryTurn'] {
  if (dryTurn === null) return null;
  const values = hooked.flatMap((one) => one.hooks.map(({ value }) => value));
  const poster = posters.find((program) => values.some((value) => isPostLine(program, value)));
  const isHttp = hooks.forms.includes('http') && values.every(({ type, async }) => type === 'http' || async === true);
  const isBoth = values.some(({ type }) => type === 'http');
  const line: Line = {
    form: poster !== undefined ? (isBoth ? `http+${poster}` : poster) : isHttp ? 'http' : 'command',
    ...{ http: '', policy: undefined, fleet: undefined, autostart: undefined },
    tokenEnv: tokenVariableIn(values.map((value) => JSON.stringify(value))),
    ...{ wake: false, onUnreachable: 'allow', program: hookProgram() },
  };
  return (binary, path, pass) =>
    tryTurn(dryTurn, {
      ...{ binary, path, pass, stopEvent: limits.stopEvent },
      settingsFor: (http) => putHooks(null, settingsFor(hooks, { ...line, http })),
    });
}
