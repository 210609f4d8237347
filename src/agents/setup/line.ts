/** Formats the command or the URL with which an agent's hook calls the service. */
import { type HookAgent, notJudged } from '../../hook-command/agent.ts';
import { builtScript } from '../../version.ts';
import { shellWord } from '../shared/text.ts';
import { type HookEvent, marginSeconds } from './hook-events.ts';
import type { Scope } from './local-context.ts';

/** For agents that run a command per call. `command` is the hook command; `curl` is a line of `sh` that runs curl. */
export const commandForms = ['command', 'curl'] as const;
/**
 * For agents that can also post over HTTP themselves (`http`). `http+curl` uses curl for stops, so that an unjudged
 * stop is reported, and http for all other events, which then start no process.
 */
export const httpForms = ['http', 'command', 'curl', 'http+curl'] as const;
export type Form = (typeof httpForms)[number];

/** True if the agent itself posts this event. */
export const isPosted = (form: Form, { isStop }: Pick<HookEvent, 'isStop'>): boolean =>
  form === 'http' || (form === 'http+curl' && !isStop);

/** True if commands of this form run curl. */
export const usesCurl = (form: Form): boolean => form === 'curl' || form === 'http+curl';

/** The options from which a hook's command or URL is created. */
export type Line = {
  readonly form: Form;
  /** `http://host:port` */
  readonly http: string;
  readonly policy: string | undefined;
  /** Undefined for the service's default fleet. */
  readonly fleet: string | undefined;
  /** `user` for hooks that run in all folders. They are silent where the service has none of its folders. */
  readonly scope?: Scope | undefined;
  /** The variable that holds the token. Undefined if none is needed. */
  readonly tokenEnv: string | undefined;
  readonly onUnreachable: 'allow' | 'block';
  readonly autostart: string | undefined;
  /** Adds a hook that wakes the session when a person resolves its escalation. */
  readonly wake: boolean;
  /** The command that starts the hook command, as words. */
  readonly program: readonly string[];
};

export const hookProgram = (): string[] => [process.execPath, builtScript('hook-command/main.js')];

type Call = Pick<HookEvent, 'name' | 'isStop' | 'seconds'>;
/** `hook` formats the agent's answer for a stop that was not judged. */
type Caller = { readonly agent: string; readonly hook: Pick<HookAgent, 'allow'> };

/** @param withEvent adds the event name, for agents whose calls omit it */
export function formatUrl(
  agent: string,
  event: Call | null,
  { http, policy, fleet, scope }: Line,
  withEvent: boolean,
): string {
  const query = [
    ...(withEvent && event !== null ? [`event=${event.name}`] : []),
    ...(policy === undefined ? [] : [`policy=${policy}`]),
    ...(fleet === undefined ? [] : [`fleet=${fleet}`]),
    ...(scope === 'user' ? ['scope=user'] : []),
  ];
  return `${http}/hooks/${agent}${query.length === 0 ? '' : `?${query.join('&')}`}`;
}

/** The command must not contain a secret, because agents show it to the model. */
export function formatCommand({ agent, hook }: Caller, event: Call | null, line: Line, options = ''): string {
  const { form, http, policy, fleet, scope, tokenEnv, onUnreachable, autostart, program } = line;
  if (usesCurl(form) && event !== null) return formatCurl({ agent, hook }, event, line);
  const parts = [
    ...program.map(shellWord),
    agent,
    ...(options === '' ? [] : [options]),
    `--http ${shellWord(http.replace(/^http:\/\//, ''))}`,
    ...(policy === undefined ? [] : [`--policy ${policy}`]),
    ...(fleet === undefined ? [] : [`--fleet ${fleet}`]),
    ...(scope === 'user' ? ['--scope user'] : []),
    ...(tokenEnv === undefined || tokenEnv === 'STOPGATE_TOKEN' ? [] : [`--token-env ${tokenEnv}`]),
    ...(onUnreachable === 'allow' ? [] : [`--on-unreachable ${onUnreachable}`]),
    ...(autostart === undefined ? [] : [`--autostart ${shellWord(autostart)}`]),
  ];
  return parts.join(' ');
}

/**
 * A line of `sh` that posts with curl. If curl fails, it reports, like the hook command, that nothing was judged. Its
 * exit code is always 0.
 */
function formatCurl({ agent, hook }: Caller, event: Call, line: Line): string {
  const { name, isStop, seconds } = event;
  const timeout = Math.max(seconds - marginSeconds, seconds / 2);
  const url = formatUrl(agent, event, line, true);
  const post = (isStop ? curlPostAgain : curlPost)(timeout, url);
  const why = `no answer from ${line.http} (curl ended with %s)`;
  const note = `stopgate: ${notJudged(isStop ? 'this stop' : `the event ${name}`, why, isStop ? 'It is allowed.' : 'The agent continues.')}`;
  const body = isStop ? hook.allow(note).body : null;
  // printf replaces the %s in the note with curl's exit code.
  const report =
    body === null ? `printf ${shellWord(`${note}\\n`)} $? >&2` : `printf ${shellWord(JSON.stringify(body))} $?`;
  return `${post} || ${report} || exit 0`;
}

/** Bypasses proxies, which may be set for the agent's model. */
const curl = (timeout: number, url: string, header = ''): string =>
  `curl -sf --noproxy '*' -m ${timeout} -H 'content-type: application/json'${header} --data-binary @- '${url}'`;

/** Posts an event that is only stored, which is not worth a retry. */
const curlPost = (timeout: number, url: string): string => `${curl(timeout, url)} 2>/dev/null`;

/**
 * Posts a stop. If the connection breaks during the call (exit codes 18, 52, 55 and 56), the stop may have counted, so
 * it is posted again under the same key. curl's own --retry would also print the partial answer, and before 7.71 it
 * cannot be limited to these failures. Eight random bytes are enough, because the key identifies one call of one
 * worker.
 */
function curlPostAgain(timeout: number, url: string): string {
  const ask = `ask() { printf %s "$call" | ${curl(timeout, url, ' -H "idempotency-key:$key"')}; }`;
  const again = `case $? in 18|52|55|56) sleep 1; answer=$(ask);; *) (exit $?);; esac`;
  return `call=$(cat); key=$(od -An -N8 -tx8 /dev/urandom); ${ask}; { answer=$(ask) || ${again}; } 2>/dev/null && printf %s "$answer"`;
}

/** The command that waits for a resolution. It judges no stop, so it takes none of the options about that. */
export function formatWakeCommand(caller: Caller, { http, fleet, tokenEnv, program }: Line): string {
  const line = { form: 'command', http, fleet, tokenEnv, program, onUnreachable: 'allow', wake: true } as const;
  // `exec` leaves no shell in between, so that the command notices when the agent exits.
  return `exec ${formatCommand(caller, null, { ...line, policy: undefined, autostart: undefined }, '--wake')}`;
}

/**
 * Recognises a hook by what it calls, not by how this version writes it, so that hand-written hooks are found too. A
 * match of only a part is not enough: other paths and scripts may look similar (`~/hooks/claude`).
 */
export function isOurs(agent: string, handler: Readonly<Record<string, unknown>>): boolean {
  const { url, bash } = handler;
  const command = commandOf(handler);
  const posts = new RegExp(`^https?://[^/]+/hooks/${agent}(?:[?'"\\s]|$)`);
  const runs = [
    `(?:^|[\\s/'"])stopgate(?:[@./]\\S*)?['"]? +hook +${agent}(?:\\s|$)`,
    `/hook-command/main\\.[jt]s['"]? +${agent} (?:.* )?--http[ =]`,
    `\\bhttps?://[^/\\s]+/hooks/${agent}(?:[?'"\\s]|$)`,
  ].map((pattern) => new RegExp(pattern));
  return (
    (typeof url === 'string' && posts.test(url)) ||
    [command, bash].some((text) => typeof text === 'string' && runs.some((pattern) => pattern.test(text)))
  );
}

/**
 * The command that a hook runs. Some agents nest it in an action; Claude Code's exec form (`args`), which needs no
 * shell, lists its arguments.
 */
export function commandOf({ command, args, action }: Readonly<Record<string, unknown>>): unknown {
  if (typeof command === 'string' && Array.isArray(args)) return [command, ...args].join(' ');
  const nested = typeof action === 'object' && action !== null ? (action as { command?: unknown }).command : undefined;
  return command ?? nested;
}
