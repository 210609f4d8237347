/**
 * The arguments of `stopgate hook`, parsed by hand: an agent waits for each call, and `parseArgs` takes a millisecond.
 */
import type { HookAgent } from './agent.ts';
import type { Found } from './find-service.ts';

export type HookOptions = {
  readonly name: string;
  readonly agent: HookAgent;
  /** `http://host:port`, without a trailing slash. */
  readonly http: string;
  /** Undefined if there is none, or if it was withheld (see `withheld`). */
  readonly token: string | undefined;
  /** The address that did not get the token. Null if nothing was withheld. */
  readonly withheld: string | null;
  /**
   * The folder whose service is not running, if no address was given. The call must not go to somebody else's service.
   */
  readonly stopped: string | null;
  /** Undefined if the body names the event. */
  readonly event: string | undefined;
  readonly worker: string | undefined;
  readonly policy: string | undefined;
  readonly fleet: string | undefined;
  /** `user`: the hooks run in all folders. Undefined if the line does not say. */
  readonly scope: string | undefined;
  /** The task list that this session shares with others, from Claude Code's environment. */
  readonly tasks: string | undefined;
  /** Undefined for the default of the agent and event. */
  readonly timeoutMs: number | undefined;
  readonly onUnreachable: 'allow' | 'block';
  /**
   * True for `--wake`: waits until a person resolves the session's escalation, then wakes the agent. Judges nothing.
   */
  readonly wake: boolean;
  /** The folder in which to start a service if none answers. */
  readonly autostart: string | undefined;
  readonly waits: HookWaits;
  /** A short digest of the arguments, which tells sets of hooks apart. */
  readonly line: string;
};

export type HookWaits = {
  /** For a lost answer, and for an unreachable service before a stop is blocked. */
  readonly serviceMs: number;
  /** For a restarting service after a block. Longer, since a loop of blocks would cost money. */
  readonly serviceAgainMs: number;
  /** `--wake`: how long the service may take to learn of the session. Another hook posts the stop at the same time. */
  readonly sessionMs: number;
};
const hookWaits: HookWaits = { serviceMs: 2_000, serviceAgainMs: 15_000, sessionMs: 2_000 };

const defaultAddress = '127.0.0.1:4280';

type Env = Readonly<Record<string, string | undefined>>;

/** The options of the parser below and of `stopgate hook --help`. Each takes a value. */
export const hookOptions = {
  http: {
    valueHint: 'HOST:PORT',
    description:
      'the service (STOPGATE_HTTP; default: that of "stopgate dev" in this folder or above, otherwise 127.0.0.1:4280)',
  },
  event: { valueHint: 'NAME', description: 'the event, for agents whose call does not name it' },
  worker: { valueHint: 'W', description: 'shell: the id of its worker' },
  policy: { valueHint: 'P', description: 'the policy to request, if nothing else names one' },
  fleet: { valueHint: 'F', description: 'the fleet, if the service serves several' },
  scope: {
    valueHint: 'WORD',
    options: ['user', 'project'],
    description: 'user: the hooks run in all folders, so a session outside of the folders of the service is ignored',
  },
  'token-env': {
    valueHint: 'NAME',
    description: 'the variable with the token of the service (default: STOPGATE_TOKEN)',
  },
  timeout: {
    valueHint: 'DURATION',
    description:
      'how long to wait: 5s, 500ms, 10m; a bare number is milliseconds (default: 5s to 595s, by agent and event)',
  },
  'on-unreachable': {
    valueHint: 'WORD',
    options: ['allow', 'block'],
    description: 'whether to allow or block a stop that cannot be judged (default: allow)',
  },
  autostart: {
    valueHint: 'DIR',
    description: 'start "stopgate dev" in this folder if no service answers; it exits after being idle for 30 minutes',
  },
} as const;
/** The only option without a value. */
export const wakeDescription =
  'claude: do not judge; wait in the background for a resolution and wake the session with its prompt';

/** @throws Error with a message for people */
export async function readOptions(argv: readonly string[], env: Env, cwd: string): Promise<HookOptions> {
  const wake = argv.includes('--wake');
  const { values, positionals } = parse(argv.filter((argument) => argument !== '--wake'));
  const [name = '', extra] = positionals;
  const agent = await loadAgent(name);
  if (extra !== undefined) throw new Error(`unexpected argument '${extra}'`);
  const { event, worker, policy, fleet, timeout, autostart, scope, 'on-unreachable': onUnreachable = 'allow' } = values;
  if (onUnreachable !== 'allow' && onUnreachable !== 'block')
    throw new Error(`--on-unreachable '${onUnreachable}' is not valid; use allow or block`);
  if (scope !== undefined && scope !== 'user' && scope !== 'project')
    throw new Error(`--scope '${scope}' is not valid; use user or project`);
  if (wake && agent.wake === undefined)
    throw new Error(`--wake is only for claude: ${name} has no hooks that could wake it`);
  if (agent.isScript && (worker ?? '') === '') throw new Error(`${name} needs the id of its worker; add --worker W`);
  const named = values.http ?? nonEmpty(env.STOPGATE_HTTP);
  const { http: found, stopped } = named === undefined ? await find(cwd) : {};
  const http = readHttp(named ?? found ?? defaultAddress);
  const token = readToken(nonEmpty(env[values['token-env'] ?? 'STOPGATE_TOKEN']));
  // A checkout may name any server: see src/config/own-address.ts.
  const isKnown = found === undefined || http === readHttp(defaultAddress);
  return {
    name,
    agent,
    event,
    worker,
    policy,
    fleet,
    scope,
    autostart,
    onUnreachable,
    wake,
    waits: hookWaits,
    http,
    token: isKnown ? token : undefined,
    withheld: isKnown || token === undefined ? null : http,
    // With --autostart, the service is started if it does not answer.
    stopped: autostart === undefined ? (stopped ?? null) : null,
    timeoutMs: timeout === undefined ? undefined : readDuration(timeout),
    tasks: nonEmpty(env.CLAUDE_CODE_TASK_LIST_ID),
    line: digest(argv.join(' ')),
  };
}

type HookCommandModule = {
  /** Exported by an agent with its own folder. */
  readonly hookCommand?: HookAgent;
  /** Exported for the agents of the table, by name. */
  readonly tableCommands?: ReadonlyMap<string, HookAgent>;
};

const loadFolder = async (folder: string): Promise<HookCommandModule> => import(`../agents/${folder}/hook-command.ts`);

/** Loads the agent's part for this program. @throws Error with a message for people if there is no such agent */
async function loadAgent(name: string): Promise<HookAgent> {
  let problem: unknown;
  try {
    const { hookCommand } = /^[a-z]+$/.test(name) ? await loadFolder(name) : {};
    if (hookCommand !== undefined) return hookCommand;
  } catch (error) {
    problem = error;
  }
  const { tableCommands = new Map<string, HookAgent>() } = await loadFolder('table');
  const inTable = tableCommands.get(name);
  if (inTable !== undefined) return inTable;
  const names = [...(await listFolders()), ...tableCommands.keys()];
  if (names.includes(name)) throw problem;
  const what = name === '' ? 'no agent given' : `unknown agent '${name}'`;
  throw new Error(`${what}; use one of: ${names.join(', ')}`, { cause: problem });
}

/** Lists the agents with a folder of their own: importing src/agents would load everything about all of them. */
async function listFolders(): Promise<string[]> {
  const { existsSync, readdirSync } = await import('node:fs');
  const folder = new URL('../agents/', import.meta.url);
  const extension = import.meta.url.slice(-3);
  const isAgent = (name: string) => name !== 'table' && existsSync(new URL(`${name}/hook-command${extension}`, folder));
  return readdirSync(folder).filter(isAgent);
}

const find = async (cwd: string): Promise<Found> => (await import('./find-service.ts')).findService(cwd);

type HookOption = keyof typeof hookOptions;
type Values = { [Name in HookOption]?: string };

const isOption = (name: string): name is HookOption => Object.hasOwn(hookOptions, name);

/** `--name value` or `--name=value`. */
function parse(argv: readonly string[]): { values: Values; positionals: string[] } {
  const values: Values = {};
  const positionals: string[] = [];
  for (let index = 0; index < argv.length; index += 1) {
    const argument = argv[index] as string;
    const [, option, inline] = /^--([^=]+)(?:=(.*))?$/s.exec(argument) ?? [];
    if (option === undefined) {
      positionals.push(argument);
      continue;
    }
    if (!isOption(option)) throw new Error(`unknown option '--${option}'`);
    if (inline === undefined) index += 1;
    const value = inline ?? argv[index] ?? '';
    if (value === '') throw new Error(`'--${option}' needs a value`);
    values[option] = value;
  }
  return { values, positionals };
}

/** FNV-1a, because loading a module for a hash would take longer than the call. */
function digest(text: string): string {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return (hash >>> 0).toString(36);
}

const nonEmpty = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

/** The token goes into an HTTP header, so it must not contain a line break. */
export function readToken(token: string | undefined): string | undefined {
  if (token === undefined || /^[\x21-\x7e]+$/.test(token)) return token;
  throw new Error('the token must be printable ASCII without spaces');
}

/** Reads `HOST:PORT`, a port or a URL, like all other commands. A URL behind a proxy may have a path. */
export function readHttp(text: string): string {
  const url = /^\d+$/.test(text) ? `http://127.0.0.1:${text}` : text.includes('://') ? text : `http://${text}`;
  if (URL.canParse(url) && /^https?:\/\/[^/?#@]+(?:\/(?!\.\.?(?:\/|$))[\w.~-]+)*\/?$/i.test(url))
    return url.replace(/\/$/, '');
  throw new Error(`--http '${text}' is not HOST:PORT such as 127.0.0.1:4280`);
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

function readDuration(text: string): number {
  const [, count, unit = 'ms'] = /^(\d{1,9})(ms|s|m|h)?$/.exec(text) ?? [];
  const ms = Number(count) * (unitMs[unit] ?? Number.NaN);
  if (ms >= 1 && ms < 2 ** 31) return ms;
  throw new Error(`--timeout '${text}' is not a duration; write 250ms, 50s or 10m`);
}
