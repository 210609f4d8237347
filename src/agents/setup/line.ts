/** The command line, or the URL, by which an agent's hook calls the service. */
import { type HookAgent, notJudged } from '../../hook-command/agent.ts';
import { builtScript } from '../../version.ts';
import { shellWord } from '../shared/text.ts';
import { type HookEvent, marginSeconds } from './hook-events.ts';

/** For agents that start a command for each call. `command`: the hook command; `curl`: a line of `sh` that runs it. */
export const commandForms = ['command', 'curl'] as const;
/**
 * For agents that can also post by themselves (`http`). `http+curl`: curl for a stop, because its line reports a stop that
 * was not judged, and http for all other events, because it starts no process.
 */
export const httpForms = ['http', 'command', 'curl', 'http+curl'] as const;
export type Form = (typeof httpForms)[number];

/** Does the agent itself post this event? */
export const isPosted = (form: Form, { isStop }: Pick<HookEvent, 'isStop'>): boolean =>
  form === 'http' || (form === 'http+curl' && !isStop);

/** Do the commands of this form run curl? */
export const usesCurl = (form: Form): boolean => form === 'curl' || form === 'http+curl';

/** The task of a hook, from which its line is made. */
export type Line = {
  readonly form: Form;
  /** `http://host:port` */
  readonly http: string;
  readonly policy: string | undefined;
  /** It is undefined for the default fleet of the service. */
  readonly fleet: string | undefined;
  /** The variable with the token. Undefined: no token is needed. */
  readonly tokenEnv: string | undefined;
  readonly onUnreachable: 'allow' | 'block';
  readonly autostart: string | undefined;
  /** With one more hook, which wakes the session when a person resolves its escalation. */
  readonly wake: boolean;
  /** The arguments that run the hook command. */
  readonly program: readonly string[];
};

export const hookProgram = (): string[] => [process.execPath, builtScript('hook-command/main.js')];

type Call = Pick<HookEvent, 'name' | 'isStop' | 'seconds'>;
/** `hook`: how the agent shows that nothing was judged. */
type Caller = { readonly agent: string; readonly hook: Pick<HookAgent, 'allow'> };

/** `withEvent`: the call itself does not name its event. `event` null: the call names it. */
export function formatUrl(
  agent: string,
  event: Call | null,
  { http, policy, fleet }: Line,
  withEvent: boolean,
): string {
  const query = [
    ...(withEvent && event !== null ? [`event=${event.name}`] : []),
    ...(policy === undefined ? [] : [`policy=${policy}`]),
    ...(fleet === undefined ? [] : [`fleet=${fleet}`]),
  ];
  return `${http}/hooks/${agent}${query.length === 0 ? '' : `?${query.join('&')}`}`;
}

/** It contains no secret: agents show the line to the model. */
export function formatCommand({ agent, hook }: Caller, event: Call | null, line: Line, options = ''): string {
  const { form, http, policy, fleet, tokenEnv, onUnreachable, autostart, program } = line;
  if (usesCurl(form) && event !== null) return formatCurl({ agent, hook }, event, line);
  const parts = [
    ...program.map(shellWord),
    agent,
    ...(options === '' ? [] : [options]),
    `--http ${shellWord(http.replace(/^http:\/\//, ''))}`,
    ...(policy === undefined ? [] : [`--policy ${policy}`]),
    ...(fleet === undefined ? [] : [`--fleet ${fleet}`]),
    ...(tokenEnv === undefined || tokenEnv === 'STOPGATE_TOKEN' ? [] : [`--token-env ${tokenEnv}`]),
    ...(onUnreachable === 'allow' ? [] : [`--on-unreachable ${onUnreachable}`]),
    ...(autostart === undefined ? [] : [`--autostart ${shellWord(autostart)}`]),
  ];
  return parts.join(' ');
}

/**
 * Writes a line of `sh` that posts by curl. If curl fails, the line reports that nothing was judged, as the hook command
 * does. It always ends with 0.
 */
function formatCurl({ agent, hook }: Caller, event: Call, line: Line): string {
  const { name, isStop, seconds } = event;
  const timeout = Math.max(seconds - marginSeconds, seconds / 2);
  const url = formatUrl(agent, event, line, true);
  const post = (isStop ? curlPostAgain : curlPost)(timeout, url);
  const why = `no answer from ${line.http} (curl ended with %s)`;
  const note = `stopgate: ${notJudged(isStop ? 'this stop' : `the event ${name}`, why, isStop ? 'It is allowed.' : 'The agent goes on.')}`;
  const body = isStop ? hook.allow(note).body : null;
  // %s of the note is curl's exit code.
  const report =
    body === null ? `printf ${shellWord(`${note}\\n`)} $? >&2` : `printf ${shellWord(JSON.stringify(body))} $?`;
  return `${post} || ${report} || exit 0`;
}

/** The call must not go to a proxy that the agent's model needs. */
const curl = (timeout: number, url: string, header = ''): string =>
  `curl -sf --noproxy '*' -m ${timeout} -H 'content-type: application/json'${header} --data-binary @- '${url}'`;

/** An event that is only stored: not worth a second try. */
const curlPost = (timeout: number, url: string): string => `${curl(timeout, url)} 2>/dev/null`;

/**
 * A stop may have counted although its answer was lost on its way (18, 52, 55, 56), so it is posted again under the same
 * key. curl's own --retry would print what it has of the lost answer, too, and versions before 7.71 cannot be told which
 * failures to try again. Eight bytes are enough: the key names one call of one worker.
 */
function curlPostAgain(timeout: number, url: string): string {
  const ask = `ask() { printf %s "$call" | ${curl(timeout, url, ' -H "idempotency-key:$key"')}; }`;
  const again = `case $? in 18|52|55|56) sleep 1; answer=$(ask);; *) (exit $?);; esac`;
  return `call=$(cat); key=$(od -An -N8 -tx8 /dev/urandom); ${ask}; { answer=$(ask) || ${again}; } 2>/dev/null && printf %s "$answer"`;
}

/** It judges nothing, so it has none of the options about that. */
export function formatWakeCommand(caller: Caller, { http, fleet, tokenEnv, program }: Line): string {
  const line = { form: 'command', http, fleet, tokenEnv, program, onUnreachable: 'allow', wake: true } as const;
  // Without a shell in between it notices when the agent is gone.
  return `exec ${formatCommand(caller, null, { ...line, policy: undefined, autostart: undefined }, '--wake')}`;
}

/**
 * Recognises a hook by what it does, not by how this version writes it: one that a person wrote is ours too. Paths and
 * scripts of others may have names like parts of ours (`~/hooks/claude`), so no part alone is enough.
 */
export function isOurs(agent: string, handler: Readonly<Record<string, unknown>>): boolean {
  const { url, command, bash } = handler;
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
