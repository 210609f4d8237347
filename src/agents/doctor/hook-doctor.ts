/** The doctor of an agent that has our hooks in JSON settings. */
import { existsSync } from 'node:fs';
import { type AgentHooks, settingsFor } from '../setup/agent-hooks.ts';
import { type FoundHook, putHooks } from '../setup/hook-settings.ts';
import { hookProgram, isOurs, type Line } from '../setup/line.ts';
import type { Places, Scope } from '../setup/places.ts';
import {
  type Answer,
  bad,
  type CheckContext,
  type Checks,
  type Connection,
  type Doctor,
  ok,
  runChecks,
  warn,
} from './doctor.ts';
import { type DryTurn, tryTurn } from './dry-turn.ts';
import { checkProgram, type Hooked, initCommand, type ReadSettings, readSettings } from './hooked.ts';
import { checkCap, checkTimes, checkUsage, type Limits } from './limit-checks.ts';
import { tokenVariableIn } from './session.ts';
import type { ReadSwitches } from './switches.ts';
import { checkPlanTools, isUnknownPolicy } from './worker-checks.ts';

/** Everything that the doctor has to know of the agent, besides its hooks. */
export type HookChecks = {
  readonly limits: Limits;
  /** It is null if it is not known how to run a turn of its program. */
  readonly dryTurn: DryTurn | null;
  /** More settings that may have our hooks. */
  readonly moreFiles?: (places: Places) => readonly (readonly [scope: string, file: string])[];
  /** Hooks that stand elsewhere than in settings. `values`: the parsed settings; later ones override earlier ones. */
  readonly findMore?: (values: readonly unknown[], places: Places) => Hooked | null;
  /** What turns its hooks off. */
  readonly switches: ReadSwitches;
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
  { moreFiles, findMore, checkSettings, switches }: HookChecks,
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
  const hooked = [...read.flatMap(([, , one]) => one.hooked ?? []), ...(more === null ? [] : [more])];
  const inFiles = read.flatMap(([, file, { problems, hooks: all }]) => [
    ...problems,
    ...(checkSettings?.(file, all) ?? []),
  ]);
  return { hooked, problems: [...inFiles, ...switches({ places, platform: process.platform, hooked })] };
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
  address: checkAddress,
  events: checkEvents,
  lines: checkLines,
  token: checkToken,
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
  const isHttp = hooks.forms.includes('http') && values.every(({ type, async }) => type === 'http' || async === true);
  const isBoth = values.some(({ type }) => type === 'http');
  const line: Line = {
    form: values.some(isCurlLine) ? (isBoth ? 'http+curl' : 'curl') : isHttp ? 'http' : 'command',
    http: '',
    policy: undefined,
    fleet: undefined,
    autostart: undefined,
    tokenEnv: tokenVariableIn(values.map((value) => JSON.stringify(value))),
    wake: false,
    onUnreachable: 'allow',
    program: hookProgram(),
  };
  return (binary, path, pass) =>
    tryTurn(dryTurn, {
      binary,
      path,
      pass,
      stopEvent: limits.stopEvent,
      settingsFor: (http) => putHooks(null, settingsFor(hooks, { ...line, http })),
    });
}

// Our hooks in a settings file: do they call this service, for every event, with all that the call needs?

/** Returns the line that the hook runs, or the address to which it posts. */
export const lineOf = ({ value }: FoundHook): string => String(value.url ?? value.command ?? value.bash ?? '');

const isCurlLine = ({ command, bash }: FoundHook['value']): boolean =>
  [command, bash].some((text) => typeof text === 'string' && /\bcurl -/.test(text));

function checkAddress({ hooks: { agent }, hooked, context: { url } }: HookedSubject): Answer {
  const { scope, file, hooks } = hooked;
  const host = url.replace(/^https?:\/\//, '');
  const option = new RegExp(`--http[ =]\\S*${host.replaceAll('.', '\\.')}(?:'|\\s|$)`);
  const stray = hooks.find((hook) => {
    const line = lineOf(hook);
    // A line without an address, written by hand, finds the service as we have found it.
    if (/\bhook\b/.test(line) && !/--http[ =]|https?:\/\//.test(line)) return false;
    return !line.includes(`//${host}/`) && !option.test(line);
  });
  if (stray === undefined) return ok(`${file} has our hooks, and they point to ${url}`);
  const fix = `${initCommand(agent, hooked)} --http ${host}`;
  return bad(
    `${file}: the hook of ${stray.event} does not point to ${url}`,
    scope === 'plugin' ? `uninstall the plugin, and: ${fix}` : fix,
  );
}

function checkEvents({ hooks: { agent, events }, checks: { limits }, hooked }: HookedSubject): Answer[] {
  const { file, hooks } = hooked;
  const form = hooks.some(({ value }) => value.type === 'http') ? 'http' : 'command';
  const present = new Set(hooks.map(({ event }) => event));
  const missing = events(form)
    .map(({ name }) => name)
    .filter((name) => !present.has(name));
  if (missing.length === 0) return [];
  const text = `${file} has no hook for ${missing.join(', ')}`;
  const fix = initCommand(agent, hooked);
  return [
    missing.includes(limits.stopEvent)
      ? bad(`${text}: no stop is ever judged`, fix)
      : warn(`${text}: some of what the agent does stays unknown`, fix),
  ];
}

/** Checks what the line itself needs. */
function checkLines({ hooks: { agent }, checks: { limits }, hooked }: HookedSubject): Answer[] {
  const { file, hooks } = hooked;
  const init = initCommand(agent, hooked);
  const missing = hooks.map((hook) => findScript(lineOf(hook))).find((path) => path !== undefined && !existsSync(path));
  const isSilent = hooks.some(({ event, value }) => event === limits.stopEvent && value.type === 'http');
  const program = `${file} runs ${missing}, which does not exist`;
  const silence = 'its hooks use HTTP: while the service is down every stop is allowed, without a notice';
  return [
    ...(missing === undefined ? [] : [bad(program, init)]),
    ...(isSilent ? [warn(silence, `if that is not enough: ${init} --on-unreachable block`)] : []),
  ];
}

/** Our script that the line runs: a path, which is quoted if it has a space. */
function findScript(line: string): string | undefined {
  const script = String.raw`hook-command/main\.js`;
  const [, quoted, bare] = new RegExp(String.raw`'(/(?:[^']|'\\'')*${script})'|(/\S*${script})`).exec(line) ?? [];
  return quoted?.replaceAll(`'\\''`, "'") ?? bare;
}

/** `lines`: what calls the service, which may name a policy for it. */
export function checkPolicyNames(
  agent: string,
  { scope, file }: Pick<Hooked, 'scope' | 'file'>,
  lines: readonly string[],
  policies: CheckContext['policies'],
): Answer[] {
  const named = lines.flatMap((line) => /(?:[?&]policy=|--policy[ =])([\w-]+)/.exec(line)?.[1] ?? []);
  return [...new Set(named)]
    .filter((name) => isUnknownPolicy(name, policies))
    .map((name) => {
      const text = `${file} names the policy ${name}, and there is none of that name: default holds instead`;
      return warn(text, `add it to stopgate.yaml, or: ${initCommand(agent, { scope })} with another --policy, or none`);
    });
}

/** Is it a post without a token? The hook command takes that from its environment. */
function isBare(hook: FoundHook): boolean {
  const { value } = hook;
  if (value.type === 'http') return value.headers === undefined;
  return isCurlLine(value) && !/authorization|bearer/i.test(lineOf(hook));
}

function checkToken({ hooks: { agent }, hooked, context: { needsToken, places } }: HookedSubject): Answer[] {
  if (!needsToken) return [];
  const { file, hooks } = hooked;
  const bare = hooks.find(isBare);
  if (bare !== undefined) {
    const text = `${file}: the service wants a token, and the hook of ${bare.event} sends none`;
    return [bad(text, `${initCommand(agent, hooked)} --token-env STOPGATE_TOKEN`)];
  }
  if (places.env.STOPGATE_TOKEN) return [];
  const text = 'the service wants a token, and STOPGATE_TOKEN is not set here';
  return [warn(text, 'set it where the agent is started')];
}
