/** The words after `stopgate hook`. Read by hand: an agent waits for each call, and `parseArgs` takes a millisecond. */
import { type HookAgent, hookAgents } from './agents.ts';

export type HookOptions = {
  readonly agent: string;
  readonly facts: HookAgent;
  /** `http://host:port`, without a slash at its end. */
  readonly http: string;
  readonly token: string | undefined;
  /** Undefined: the body says it. */
  readonly event: string | undefined;
  readonly worker: string | undefined;
  readonly policy: string | undefined;
  /** Undefined: by the agent and event. */
  readonly timeoutMs: number | undefined;
  readonly onUnreachable: 'allow' | 'block';
  /** Nothing is judged: it waits for a person's word, and wakes the agent with it. */
  readonly wake: boolean;
  /** The folder to start a service in, where there is none. */
  readonly autostart: string | undefined;
};

type Env = Readonly<Record<string, string | undefined>>;

const names = ['http', 'event', 'worker', 'policy', 'timeout', 'autostart', 'token-env', 'on-unreachable'] as const;

/** @throws Error in words for a person */
export async function readOptions(argv: readonly string[], env: Env, cwd: string): Promise<HookOptions> {
  const wake = argv.includes('--wake');
  const { values, words } = readWords(argv.filter((word) => word !== '--wake'));
  const [agent = '', more] = words;
  const facts = hookAgents.get(agent);
  const known = [...hookAgents.keys()].join(', ');
  if (facts === undefined)
    throw new Error(agent === '' ? `name an agent: ${known}` : `no agent '${agent}'; these are: ${known}`);
  if (more !== undefined) throw new Error(`'${more}' is one word too many`);
  const { event, worker, policy, timeout, autostart, 'on-unreachable': onUnreachable = 'allow' } = values;
  if (onUnreachable !== 'allow' && onUnreachable !== 'block')
    throw new Error(`--on-unreachable '${onUnreachable}' is neither allow nor block`);
  if (wake && agent !== 'claude') throw new Error(`--wake is for claude: ${agent} has no hooks that wake it`);
  if (agent === 'shell' && (worker ?? '') === '') throw new Error('a shell says who it is: --worker W');
  return {
    ...{ agent, facts, event, worker, policy, autostart, onUnreachable, wake },
    http: readHttp(values.http ?? given(env.STOPGATE_HTTP) ?? (await find(cwd)) ?? '127.0.0.1:4280'),
    token: readToken(given(env[values['token-env'] ?? 'STOPGATE_TOKEN'])),
    timeoutMs: timeout === undefined ? undefined : readDuration(timeout),
  };
}

const find = async (cwd: string): Promise<string | undefined> => (await import('./find-service.ts')).findService(cwd);

type Values = { [Name in (typeof names)[number]]?: string };

/** `--name value` or `--name=value`. */
function readWords(argv: readonly string[]): { values: Values; words: string[] } {
  const values: Values = {};
  const words: string[] = [];
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at] as string;
    const [, option, inline] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
    if (option === undefined) {
      words.push(word);
      continue;
    }
    const name = names.find((each) => each === option);
    if (name === undefined) throw new Error(`there is no option '--${option}'`);
    if (inline === undefined) at += 1;
    const value = inline ?? argv[at] ?? '';
    if (value === '') throw new Error(`'--${name}' needs a value`);
    values[name] = value;
  }
  return { values, words };
}

const given = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

/** It goes into a header: what would end the line there is no token. */
export function readToken(token: string | undefined): string | undefined {
  if (token === undefined || /^[\x21-\x7e]+$/.test(token)) return token;
  throw new Error('the token holds more than printable ASCII without spaces');
}

/** As everywhere else: `HOST:PORT`, a port or a URL. */
export function readHttp(text: string): string {
  const url = /^\d+$/.test(text) ? `http://127.0.0.1:${text}` : text.includes('://') ? text : `http://${text}`;
  if (URL.canParse(url) && /^https?:\/\/[^/?#@]+\/?$/i.test(url)) return url.replace(/\/$/, '');
  throw new Error(`--http '${text}' is no HOST:PORT, such as 127.0.0.1:4280`);
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

function readDuration(text: string): number {
  const [, count, unit = 'ms'] = /^(\d{1,9})(ms|s|m|h)?$/.exec(text) ?? [];
  const ms = Number(count) * (unitMs[unit] ?? Number.NaN);
  if (ms >= 1 && ms < 2 ** 31) return ms;
  throw new Error(`--timeout '${text}' is no duration: write 250ms, 50s or 10m`);
}
