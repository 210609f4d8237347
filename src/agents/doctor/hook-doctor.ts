/** The doctor for agents whose hooks are in JSON settings. */
import { existsSync } from 'node:fs';
import { type AgentHooks, formatOf, settingsFor } from '../setup/agent-hooks.ts';
import type { FoundHook } from '../setup/hook-settings.ts';
import { commandOf, hookProgram, isOurs, type Line } from '../setup/line.ts';
import type { LocalContext, Scope } from '../setup/local-context.ts';
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
import { checkProgram, type HookedFile, initCommand, readSettingsFile, type SettingsContent } from './find-hooks.ts';
import { checkCap, checkTimes, checkUsage, type Limits } from './limit-checks.ts';
import { tokenVariableIn } from './session.ts';
import type { ReadSwitches } from './switches.ts';
import { checkPlanTools, isUnknownPolicy } from './worker-checks.ts';

/** What the doctor needs to know about an agent besides its hooks. */
export type HookChecks = {
  readonly limits: Limits;
  /** Null if the doctor cannot run a turn of its program. */
  readonly dryTurn: DryTurn | null;
  /** More settings files that may contain our hooks. */
  readonly moreFiles?: (places: LocalContext) => readonly (readonly [scope: string, file: string])[];
  /**
   * Finds hooks outside of settings, such as a plugin's. `values` are the parsed settings; later ones take precedence.
   */
  readonly findMore?: (values: readonly unknown[], places: LocalContext) => HookedFile | null;
  /** Finds settings that turn hooks off. */
  readonly switches: ReadSwitches;
  /** `hooks` are all hooks of the file, not only ours. */
  readonly checkSettings?: (file: string, hooks: readonly FoundHook[]) => readonly Answer[];
  readonly checkHooked?: (hooked: HookedFile, context: CheckContext) => Promise<readonly Answer[]>;
};

export function createHookDoctor(hooks: AgentHooks, checks: HookChecks): Doctor {
  return {
    find(places) {
      const { hooked, problems } = findHooks(hooks, checks, places);
      return {
        scopes: hooked.map(({ scope }) => scope),
        problems,
        lines: hooked.flatMap(({ hooks: ours }) => ours.map(({ value }) => JSON.stringify(value))),
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
  places: LocalContext,
): { hooked: readonly HookedFile[]; problems: readonly Answer[] } {
  const { agent, scopes } = hooks;
  const own = scopes.map((scope: Scope) => [scope, hooks.file(scope, places)] as const);
  // If the project is the home folder, both scopes are the same file.
  const files = [...own, ...(moreFiles?.(places) ?? [])].filter(
    ([, file], index, all) => all.findIndex(([, other]) => other === file) === index,
  );
  const read = files.map(([scope, file]): [string, string, SettingsContent] => [
    scope,
    file,
    readSettingsFile({ scope, file }, formatOf(hooks), (handler) => isOurs(agent, handler)),
  ]);
  const values = ['user', 'project', 'local'].map((scope) => read.find(([name]) => name === scope)?.[2].value);
  const more = findMore?.(values, places) ?? null;
  const hooked = [...read.flatMap(([, , settings]) => settings.hooked ?? []), ...(more === null ? [] : [more])];
  const inFiles = read.flatMap(([, file, { problems, hooks: all }]) => [
    ...problems,
    ...(checkSettings?.(file, all) ?? []),
  ]);
  return { hooked, problems: [...inFiles, ...switches({ places, platform: process.platform, hooked })] };
}

/** One settings file, or plugin, with our hooks. */
type HookedSubject = {
  readonly hooks: AgentHooks;
  readonly checks: HookChecks;
  readonly hooked: HookedFile;
  readonly context: CheckContext;
};

const hookedChecks: Checks<HookedSubject> = {
  policyNames: ({ hooks: { agent }, hooked, context }) =>
    checkPolicyNames(agent, hooked, hooked.hooks.map(hookTarget), context.policies),
  address: checkAddress,
  events: checkEvents,
  lines: checkLines,
  token: checkToken,
  times: ({ checks: { limits }, hooked, context }) => checkTimes(limits, hooked, context.policies ?? new Map()),
  agentSpecific: ({ checks: { checkHooked }, hooked, context }) => checkHooked?.(hooked, context) ?? [],
};

/** An agent with all files that contain our hooks, and the first of them. */
type AgentSubject = Omit<HookedSubject, 'hooked'> & { readonly first: HookedFile; readonly all: readonly HookedFile[] };

const agentChecks: Checks<AgentSubject> = {
  duplicates: ({ hooks: { agent }, first, all }) => {
    if (all.length === 1) return [];
    const scopes = all.map(({ scope }) => scope).join(' and ');
    const option = first.scope === 'user' ? '--user' : '--project';
    return warn(
      `our hooks are in the ${scopes} settings, so each event is reported ${all.length} times`,
      `stopgate init ${agent} ${option} --remove`,
    );
  },
  eachFile: async ({ all, ...subject }) => {
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
  all: readonly HookedFile[],
  context: CheckContext,
): Promise<Answer[]> {
  const [first] = all;
  if (first === undefined)
    return [bad('its settings have no stopgate hooks, so no stop is judged', `stopgate init ${hooks.agent}`)];
  return runChecks(agentChecks, { hooks, checks, context, first, all });
}

/** The dry turn uses the form of the existing hooks or, without hooks, the agent's default form. */
function createDryTurn(
  hooks: AgentHooks,
  { dryTurn, limits }: HookChecks,
  hooked: readonly HookedFile[],
): Connection['dryTurn'] {
  if (dryTurn === null) return null;
  const values = hooked.flatMap(({ hooks: ours }) => ours.map(({ value }) => value));
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
  return (options) =>
    tryTurn(dryTurn, {
      ...options,
      stopEvent: limits.stopEvent,
      settingsFor: (http) => formatOf(hooks).put(null, settingsFor(hooks, { ...line, http })),
    });
}

// Checks of one settings file: whether its hooks call this service, for every event, with everything that a call needs.

/** The URL that the hook posts to, or the command that it runs. */
export const hookTarget = ({ value }: FoundHook): string => String(value.url ?? commandOf(value) ?? value.bash ?? '');

const isCurlLine = (value: FoundHook['value']): boolean =>
  [commandOf(value), value.bash].some((text) => typeof text === 'string' && /\bcurl -/.test(text));

function checkAddress({ hooks: { agent }, hooked, context: { url } }: HookedSubject): Answer {
  const { scope, file, hooks } = hooked;
  const host = url.replace(/^https?:\/\//, '');
  const option = new RegExp(`--http[ =]\\S*${host.replaceAll('.', '\\.')}(?:'|\\s|$)`);
  const stray = hooks.find((hook) => {
    const line = hookTarget(hook);
    // A hand-written command without an address finds the service like we do.
    if (/\bhook\b/.test(line) && !/--http[ =]|https?:\/\//.test(line)) return false;
    return !line.includes(`//${host}/`) && !option.test(line);
  });
  if (stray === undefined) return ok(`${file} has our hooks, which call ${url}`);
  const fix = `${initCommand(agent, hooked)} --http ${host}`;
  return bad(
    `${file}: the ${stray.event} hook does not call ${url}`,
    scope === 'plugin' ? `uninstall the plugin, then: ${fix}` : fix,
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
      : warn(`${text}: some of the agent's activity is not recorded`, fix),
  ];
}

/** Checks that our script exists, and warns about hooks that fail silently. */
function checkLines({ hooks: { agent }, checks: { limits }, hooked }: HookedSubject): readonly Answer[] {
  const { file, hooks } = hooked;
  const init = initCommand(agent, hooked);
  const missing = hooks
    .map((hook) => findScript(hookTarget(hook)))
    .find((path) => path !== undefined && !existsSync(path));
  const isSilent = hooks.some(({ event, value }) => event === limits.stopEvent && value.type === 'http');
  const answers: Answer[] = [];
  if (missing !== undefined) answers.push(bad(`${file} runs ${missing}, which does not exist`, init));
  if (isSilent)
    answers.push(
      warn(
        'its hooks use HTTP: while the service is down, every stop is allowed without notice',
        `to block such stops: ${init} --on-unreachable block`,
      ),
    );
  return answers;
}

/** The path of our script in a command. It is quoted if it has a space. */
function findScript(line: string): string | undefined {
  const script = String.raw`hook-command/main\.js`;
  const [, quoted, bare] = new RegExp(String.raw`'(/(?:[^']|'\\'')*${script})'|(/\S*${script})`).exec(line) ?? [];
  return quoted?.replaceAll(`'\\''`, "'") ?? bare;
}

/** @param lines the commands and URLs that call the service, which may name a policy */
export function checkPolicyNames(
  agent: string,
  { scope, file }: Pick<HookedFile, 'scope' | 'file'>,
  lines: readonly string[],
  policies: CheckContext['policies'],
): Answer[] {
  const named = lines.flatMap((line) => /(?:[?&]policy=|--policy[ =])([\w-]+)/.exec(line)?.[1] ?? []);
  return [...new Set(named)]
    .filter((name) => isUnknownPolicy(name, policies))
    .map((name) => {
      const text = `${file} names the policy ${name}, which does not exist: the policy default applies instead`;
      return warn(text, `add it to stopgate.yaml, or: ${initCommand(agent, { scope })} with another --policy, or none`);
    });
}

/** True if the hook posts without a token. The hook command takes its token from the environment. */
function hasNoToken(hook: FoundHook): boolean {
  const { value } = hook;
  if (value.type === 'http') return value.headers === undefined;
  return isCurlLine(value) && !/authorization|bearer/i.test(hookTarget(hook));
}

function checkToken({ hooks: { agent }, hooked, context: { needsToken, places } }: HookedSubject): Answer[] {
  if (!needsToken) return [];
  const { file, hooks } = hooked;
  const bare = hooks.find(hasNoToken);
  if (bare !== undefined) {
    const text = `${file}: the service requires a token, but the ${bare.event} hook sends none`;
    return [bad(text, `${initCommand(agent, hooked)} --token-env STOPGATE_TOKEN`)];
  }
  if (places.env.STOPGATE_TOKEN) return [];
  const text = 'the service requires a token, but STOPGATE_TOKEN is not set here';
  return [warn(text, 'set it where the agent is started')];
}
