/** The arguments after `stopgate hook`. Read by hand: an agent waits for each call, and `parseArgs` takes a millisecond. */
import type { HookAgent } from './agent.ts';
import type { Found } from './find-service.ts';

export type HookOptions = {
  readonly name: string;
  readonly agent: HookAgent;
  /** `http://host:port`, without a slash at its end. */
  readonly http: string;
  /** Undefined too where only the files of the folder name the service: see `withheld`. */
  readonly token: string | undefined;
  /** The address to which the token was not sent. */
  readonly withheld: string | null;
  /** No address was given, and the service of this folder does not run: another's must not hear of the call. */
  readonly stopped: string | null;
  /** It is undefined if the body names it. */
  readonly event: string | undefined;
  readonly worker: string | undefined;
  readonly policy: string | undefined;
  readonly fleet: string | undefined;
  /** The list of steps that this session shares with others, as Claude Code's environment names it. */
  readonly tasks: string | undefined;
  /** It is undefined if agent and event decide it. */
  readonly timeoutMs: number | undefined;
  readonly onUnreachable: 'allow' | 'block';
  /** Nothing is judged: it waits until a person resolves the session's escalation, and wakes the agent. */
  readonly wake: boolean;
  /** The folder in which to start a service if none answers. */
  readonly autostart: string | undefined;
  readonly waits: HookWaits;
};

export type HookWaits = {
  /** For an answer that was lost on its way, and for a service that is away before a stop is blocked. */
  readonly serviceMs: number;
  /**
   * The wait for a service that is being restarted, after a block: it is longer, since a loop of blocks would cost
   * money.
   */
  readonly serviceAgainMs: number;
  /** `--wake`: another hook posts the stop itself, at the same time. The service may learn of the session this much later. */
  readonly sessionMs: number;
};
const hookWaits: HookWaits = { serviceMs: 2_000, serviceAgainMs: 15_000, sessionMs: 2_000 };

const usual = '127.0.0.1:4280';

type Env = Readonly<Record<string, string | undefined>>;

/** The options, for the parser below and for `stopgate hook --help`. Each takes a value. */
export const hookOptions = {
  http: {
    valueHint: 'HOST:PORT',
    description:
      'the service (STOPGATE_HTTP; default: that of "stopgate dev" in this folder or above, else 127.0.0.1:4280)',
  },
  event: { valueHint: 'NAME', description: 'the event, for agents whose call does not name it' },
  worker: { valueHint: 'W', description: 'shell: the name of its worker' },
  policy: { valueHint: 'P', description: 'the policy of the agent, if nothing else names one' },
  fleet: { valueHint: 'F', description: 'its fleet, if the service serves several' },
  'token-env': {
    valueHint: 'NAME',
    description: 'the variable with the token of the service (default: STOPGATE_TOKEN)',
  },
  timeout: {
    valueHint: 'DURATION',
    description: 'how long to wait: 500ms, 5s, 10m (default: 5s to 595s, by agent and event)',
  },
  'on-unreachable': {
    valueHint: 'WORD',
    options: ['allow', 'block'],
    description: 'what happens to a stop that could not be judged (default: allow)',
  },
  autostart: {
    valueHint: 'DIR',
    description: 'start "stopgate dev" in this folder if no service answers; it exits after 30 idle minutes',
  },
} as const;
/** The only one that takes none. */
export const wakeDescription =
  'claude: judge nothing; wait in the background for a resolution, and wake the session with its prompt';

/** @throws Error for a person */
export async function readOptions(argv: readonly string[], env: Env, cwd: string): Promise<HookOptions> {
  const wake = argv.includes('--wake');
  const { values, positionals } = parse(argv.filter((argument) => argument !== '--wake'));
  const [name = '', extra] = positionals;
  const agent = await loadAgent(name);
  if (extra !== undefined) throw new Error(`there is one argument too many: '${extra}'`);
  const { event, worker, policy, fleet, timeout, autostart, 'on-unreachable': onUnreachable = 'allow' } = values;
  if (onUnreachable !== 'allow' && onUnreachable !== 'block')
    throw new Error(`--on-unreachable '${onUnreachable}' is neither allow nor block`);
  if (wake && agent.wake === undefined) throw new Error(`--wake is for claude: ${name} has no hooks that wake it`);
  if (agent.isScript && (worker ?? '') === '') throw new Error(`${name} needs the name of its worker: --worker W`);
  const given = values.http ?? nonEmpty(env.STOPGATE_HTTP);
  const { http: found, stopped } = given === undefined ? await find(cwd) : {};
  const http = readHttp(given ?? found ?? usual);
  const token = readToken(nonEmpty(env[values['token-env'] ?? 'STOPGATE_TOKEN']));
  // A checkout may name any server: src/config/own-address.ts says more.
  const isKnown = found === undefined || http === readHttp(usual);
  return {
    name,
    agent,
    event,
    worker,
    policy,
    fleet,
    autostart,
    onUnreachable,
    wake,
    waits: hookWaits,
    http,
    token: isKnown ? token : undefined,
    withheld: isKnown || token === undefined ? null : http,
    // With --autostart the service comes back as soon as nobody answers.
    stopped: autostart === undefined ? (stopped ?? null) : null,
    timeoutMs: timeout === undefined ? undefined : readDuration(timeout),
    tasks: nonEmpty(env.CLAUDE_CODE_TASK_LIST_ID),
  };
}

/**
 * Loads what the agent's own folder has for this program.
 * @throws Error for a person: there is no such agent
 */
async function loadAgent(name: string): Promise<HookAgent> {
  try {
    if (!/^[a-z]+$/.test(name)) throw new Error(`'${name}' is no name`);
    return ((await import(`../agents/${name}/hook-command.ts`)) as { hookCommand: HookAgent }).hookCommand;
  } catch (cause) {
    const names = await listAgents();
    if (names.includes(name)) throw cause;
    const problem = name === '' ? 'name an agent: ' : `no agent '${name}'; these are: `;
    throw new Error(problem + names.join(', '), { cause });
  }
}

/** By their folders: the list in src/agents would load all that is known of each. */
async function listAgents(): Promise<string[]> {
  const { existsSync, readdirSync } = await import('node:fs');
  const folder = new URL('../agents/', import.meta.url);
  const extension = import.meta.url.slice(-3);
  return readdirSync(folder).filter((name) => existsSync(new URL(`${name}/hook-command${extension}`, folder)));
}

const find = async (cwd: string): Promise<Found> => (await import('./find-service.ts')).findService(cwd);

type HookOption = keyof typeof hookOptions;
type Values = { [Name in HookOption]?: string };

const isOption = (name: string): name is HookOption => Object.hasOwn(hookOptions, name);

/** `--name value` or `--name=value`. */
function parse(argv: readonly string[]): { values: Values; positionals: string[] } {
  const values: Values = {};
  const positionals: string[] = [];
  for (let at = 0; at < argv.length; at += 1) {
    const argument = argv[at] as string;
    const [, option, inline] = /^--([^=]+)(?:=(.*))?$/s.exec(argument) ?? [];
    if (option === undefined) {
      positionals.push(argument);
      continue;
    }
    if (!isOption(option)) throw new Error(`there is no option '--${option}'`);
    if (inline === undefined) at += 1;
    const value = inline ?? argv[at] ?? '';
    if (value === '') throw new Error(`'--${option}' needs a value`);
    values[option] = value;
  }
  return { values, positionals };
}

const nonEmpty = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

/** It goes into an HTTP header, so it must not contain what would end the line. */
export function readToken(token: string | undefined): string | undefined {
  if (token === undefined || /^[\x21-\x7e]+$/.test(token)) return token;
  throw new Error('the token may hold only printable ASCII characters, and no spaces');
}

/** As everywhere else: `HOST:PORT`, a port or a URL. */
export function readHttp(text: string): string {
  const url = /^\d+$/.test(text) ? `http://127.0.0.1:${text}` : text.includes('://') ? text : `http://${text}`;
  if (URL.canParse(url) && /^https?:\/\/[^/?#@]+\/?$/i.test(url)) return url.replace(/\/$/, '');
  throw new Error(`--http '${text}' is not HOST:PORT, such as 127.0.0.1:4280`);
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

function readDuration(text: string): number {
  const [, count, unit = 'ms'] = /^(\d{1,9})(ms|s|m|h)?$/.exec(text) ?? [];
  const ms = Number(count) * (unitMs[unit] ?? Number.NaN);
  if (ms >= 1 && ms < 2 ** 31) return ms;
  throw new Error(`--timeout '${text}' is not a duration: write 250ms, 50s or 10m`);
}
