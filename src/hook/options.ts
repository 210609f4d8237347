/** The words after `stopgate hook`, and where the service is. Node's own modules only: an agent waits for each call. */
import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
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
  /** The folder to start a service in, where there is none. */
  readonly autostart: string | undefined;
};

type Env = Readonly<Record<string, string | undefined>>;

/** @throws Error in words for a person */
export function readOptions(argv: readonly string[], env: Env, cwd: string): HookOptions {
  const text = { type: 'string' } as const;
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      ...{ http: text, event: text, worker: text, policy: text, timeout: text, autostart: text },
      ...{ 'token-env': text, 'on-unreachable': text },
    },
  });
  const [agent = '', more] = positionals;
  const facts = hookAgents.get(agent);
  const known = [...hookAgents.keys()].join(', ');
  if (facts === undefined)
    throw new Error(agent === '' ? `name an agent: ${known}` : `no agent '${agent}'; these are: ${known}`);
  if (more !== undefined) throw new Error(`'${more}' is one word too many`);
  const { event, worker, policy, timeout, autostart, 'on-unreachable': onUnreachable = 'allow' } = values;
  if (onUnreachable !== 'allow' && onUnreachable !== 'block')
    throw new Error(`--on-unreachable '${onUnreachable}' is neither allow nor block`);
  if (agent === 'shell' && (worker ?? '') === '') throw new Error('a shell says who it is: --worker W');
  return {
    ...{ agent, facts, event, worker, policy, autostart, onUnreachable },
    http: readHttp(values.http ?? given(env.STOPGATE_HTTP) ?? configured(cwd) ?? running(cwd) ?? '127.0.0.1:4280'),
    token: readToken(given(env[values['token-env'] ?? 'STOPGATE_TOKEN'])),
    timeoutMs: timeout === undefined ? undefined : readDuration(timeout),
  };
}

const given = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

/** It goes into a header: what would end the line there is no token. */
function readToken(token: string | undefined): string | undefined {
  if (token === undefined || /^[\x21-\x7e]+$/.test(token)) return token;
  throw new Error('the token holds more than printable ASCII without spaces');
}

/** As everywhere else: `HOST:PORT`, a port or a URL. */
function readHttp(text: string): string {
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

/** One line of stopgate.yaml; to read the whole of it would take longer than the call. */
function configured(cwd: string): string | undefined {
  const text = read(join(cwd, 'stopgate.yaml'));
  const http = /^http:[ \t]*["']?([^\s"'#]+)/m.exec(text ?? '')?.[1];
  return http === 'off' || http === 'none' ? undefined : http;
}

/** Where the `stopgate dev` of this folder, or of one above it, listens; never that of a stranger (config-store.ts). */
function running(cwd: string): string | undefined {
  const home = homedir();
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const http = ownService(join(folder, '.stopgate', 'service.json'), cwd);
    if (http !== undefined) return http;
    if (folder === home || folder === dirname(folder)) return undefined;
  }
}

function ownService(file: string, cwd: string): string | undefined {
  const text = read(file);
  if (text === undefined) return undefined;
  try {
    const owners = [process.getuid?.(), statSync(cwd).uid];
    if (process.getuid !== undefined && !owners.includes(statSync(file).uid)) return undefined;
    const { http } = JSON.parse(text) as { http?: unknown };
    return typeof http === 'string' ? http : undefined;
  } catch {
    return undefined; // being written
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
