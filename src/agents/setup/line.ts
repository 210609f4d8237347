/** The command line, or the URL, by which an agent's hook calls the service. */
import { type HookAgent, notJudged } from '../../hook-command/agent.ts';
import { shellWord } from '../../shell-word.ts';
import { builtScript } from '../../version.ts';
import { type HookEvent, marginSeconds } from './hook-events.ts';

/**
 * `http`: the agent posts by itself. `command`: the hook command. `curl`: sh and curl. `http+curl`: curl where a stop is
 * asked, which reports that nothing was judged, and http for all else, which costs the agent no process.
 */
export const forms = ['http', 'command', 'curl', 'http+curl'] as const;
export type Form = (typeof forms)[number];

/** Does the agent itself post this event? */
export const isPosted = (form: Form, { isStop }: Pick<HookEvent, 'isStop'>): boolean =>
  form === 'http' || (form === 'http+curl' && !isStop);

/** What the hook is to do. */
export type Line = {
  readonly form: Form;
  /** `http://host:port` */
  readonly http: string;
  readonly policy: string | undefined;
  /** Undefined: the default one of the service. */
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
  if ((form === 'curl' || form === 'http+curl') && event !== null) return formatCurl({ agent, hook }, event, line);
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

/** Where curl fails, the line reports that nothing was judged, as the hook command does. It always ends with 0. */
function formatCurl({ agent, hook }: Caller, event: Call, line: Line): string {
  const { name, isStop, seconds } = event;
  const timeout = Math.max(seconds - marginSeconds, seconds / 2);
  const url = formatUrl(agent, event, line, true);
  // The call must not go to a proxy that the agent's model needs.
  const post = `curl -sf --noproxy '*' -m ${timeout} -H 'content-type: application/json' --data-binary @- '${url}' 2>/dev/null`;
  const why = `no answer from ${line.http} (curl ended with %s)`;
  const note = `stopgate: ${notJudged(isStop ? 'this stop' : `the event ${name}`, why, isStop ? 'It is allowed.' : 'The agent goes on.')}`;
  const body = isStop ? hook.allow(note).body : null;
  // %s of the note is the exit code of curl.
  const report =
    body === null ? `printf ${shellWord(`${note}\\n`)} $? >&2` : `printf ${shellWord(JSON.stringify(body))} $?`;
  return `${post} || ${report} || exit 0`;
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
    `/hook(?:-command)?/main\\.[jt]s['"]? +${agent} (?:.* )?--http[ =]`,
    `\\bhttps?://[^/\\s]+/hooks/${agent}(?:[?'"\\s]|$)`,
  ].map((pattern) => new RegExp(pattern));
  return (
    (typeof url === 'string' && posts.test(url)) ||
    [command, bash].some((text) => typeof text === 'string' && runs.some((pattern) => pattern.test(text)))
  );
}
