/** The doctor of an agent that has our hooks in JSON settings. */
import { type AgentHooks, settingsFor } from '../setup/agent-hooks.ts';
import { type FoundHook, putHooks } from '../setup/hook-settings.ts';
import { hookProgram, isOurs, type Line, posters } from '../setup/line.ts';
import type { Places, Scope } from '../setup/places.ts';
import type { CheckContext, Connection, Doctor } from './doctor.ts';
import { type DryTurn, tryTurn } from './dry-turn.ts';
import { bad, type Finding, warn } from './finding.ts';
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
  readonly checkSettings?: (file: string, hooks: readonly FoundHook[]) => readonly Finding[];
  readonly checkHooked?: (hooked: Hooked, context: CheckContext) => Promise<readonly Finding[]>;
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
): { hooked: readonly Hooked[]; problems: readonly Finding[] } {
  const { agent, scopes } = hooks;
  const own = scopes.map((scope: Scope) => [scope, hooks.file(scope, places)] as const);
  // In the home folder, the project's settings are the user's.
  const files = [...own, ...(moreFiles?.(places) ?? [])].filter(
    ([, file], index, all) => all.findIndex(([, other]) => other === file) === index,
  );
  const read = files.map(([scope, file]): [string, string, ReadSettings] => [
    scope,
    file,
    readSettings(agent, { scope, file }, (handler) => isOurs(agent, handler)),
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

async function checkConnection(
  hooks: AgentHooks,
  { limits, checkHooked }: HookChecks,
  hooked: readonly Hooked[],
  context: CheckContext,
): Promise<Finding[]> {
  const { agent } = hooks;
  const [first] = hooked;
  if (first === undefined)
    return [bad(agent, 'its settings have no hook of stopgate, so no stop is judged', `stopgate init ${agent}`)];
  const findings: Finding[] = [];
  if (hooked.length > 1) {
    const scopes = hooked.map(({ scope }) => scope).join(' and ');
    const text = `our hooks are in the ${scopes} settings: each call comes ${hooked.length} times`;
    const option = first.scope === 'user' ? '--user' : '--project';
    findings.push(warn(agent, text, `stopgate init ${agent} ${option} --remove`));
  }
  const { places } = context;
  const policies = context.policies ?? new Map();
  for (const one of hooked) {
    findings.push(...checkPolicyNames(agent, one, one.hooks.map(lineOf), context.policies));
    findings.push(checkAddress(agent, one, context.url), ...checkEvents(hooks, limits.stopEvent, one));
    findings.push(
      ...checkLines(agent, limits.stopEvent, one),
      ...(context.needsToken ? checkToken(agent, one, places) : []),
    );
    findings.push(...checkTimes(agent, limits, one, policies));
    findings.push(...((await checkHooked?.(one, context)) ?? []));
  }
  if (hooks.planTools !== undefined)
    findings.push(checkPlanTools(agent, hooks.planTools.read(places), policies, initCommand(agent, first)));
  findings.push(...checkUsage(context, hooks.usage ?? null, initCommand(agent, first)));
  return [...findings, ...checkCap(agent, limits.blockCap, hooked, { places, policies })];
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
  const { agent } = hooks;
  return (binary, path, pass) =>
    tryTurn(dryTurn, {
      ...{ agent, binary, path, pass, stopEvent: limits.stopEvent },
      settingsFor: (http) => putHooks(null, settingsFor(hooks, { ...line, http })),
    });
}
