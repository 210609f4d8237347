/**
 * For the Claude Agent SDK: `query({ prompt, options: { hooks: stopHooks() } })`. Its callbacks get and give the same
 * JSON as Claude Code's hooks, so each posts what it gets to the service's HTTP port. Needs nothing else, the SDK neither.
 */
import { hookAgents, notJudged, patienceMs } from '../../hook-command/agents.ts';
import { readHttp, readToken } from '../../hook-command/options.ts';
import { post } from '../../hook-command/post.ts';
import { type Asked, askForWord, pause, retryMs } from '../../hook-command/wake.ts';
import { setupAgents } from '../setup/agents.ts';

export type StopHooksOptions = {
  /** `HOST:PORT`, a port or a URL. Default: 127.0.0.1:4280. */
  readonly http?: string;
  /** What the sessions name as their policy when they begin. */
  readonly policy?: string;
  /** Where the service asks for one. */
  readonly token?: string;
  /** Told whenever a stop was not judged, and allowed for that. Default: a warning of the process. */
  readonly onUnjudged?: (message: string) => void;
};

/** What the SDK hands in; more keys come with it, and are posted as they are. */
export type HookInput = { readonly hook_event_name: string };
/** What the service may answer: every key is one of the SDK's. */
export type HookOutput = {
  continue?: boolean;
  stopReason?: string;
  systemMessage?: string;
  decision?: 'block';
  reason?: string;
  hookSpecificOutput?:
    | { hookEventName: 'PreToolUse'; permissionDecision: 'deny'; permissionDecisionReason: string }
    | { hookEventName: 'PostToolUse' | 'SessionStart' | 'UserPromptSubmit'; additionalContext: string };
};
export type HookCallback = (
  input: HookInput,
  toolUseId: string | undefined,
  options: { signal: AbortSignal },
) => Promise<HookOutput>;
/** By the name of the event. */
export type StopHooks = Record<string, { hooks: HookCallback[]; timeout: number }[]>;

const claude = hookAgents.get('claude') as NonNullable<ReturnType<typeof hookAgents.get>>;
const warn = (message: string): void => process.emitWarning(message, 'StopgateWarning');

/**
 * The `hooks` of the SDK's options. A service that is away, or gives no answer in time, lets the agent stop: then its
 * session and `onUnjudged` are told.
 * @throws Error where an option cannot be read
 */
export function stopHooks(options: StopHooksOptions = {}): StopHooks {
  const { http = '127.0.0.1:4280', policy, onUnjudged = warn } = options;
  const token = readToken(options.token);
  const url = new URL('/hooks/claude', readHttp(http));
  if (policy !== undefined) url.searchParams.set('policy', policy);
  const ask: HookCallback = async (input, _toolUseId, { signal }) => {
    const { hook_event_name: event, tool_name: tool = '' } = input as HookInput & { tool_name?: string };
    const timeoutMs = patienceMs(claude, { event, tool });
    const body = Buffer.from(JSON.stringify(input));
    const posted = await post({ url: url.href, token, body, timeoutMs, signal });
    if (posted.kind === 'answer') return posted.body ?? {};
    if (!claude.isStop(event, tool)) return {};
    const said = `stopgate: ${notJudged('this stop', posted.why, 'It is allowed.')}`;
    onUnjudged(said);
    return { systemMessage: said };
  };
  const matchers = setupAgents.claude.events('command').map(({ name, seconds: timeout }) => {
    return [name, [{ hooks: [ask], timeout }]];
  });
  return Object.fromEntries(matchers);
}

export type UntilResolvedOptions = Pick<StopHooksOptions, 'http' | 'token'> & {
  /** Ends the waiting: then it throws the signal's reason. */
  readonly signal?: AbortSignal;
};

/**
 * Waits until a person has resolved the escalation of a session whose query has ended. Gives the prompt with which to go
 * on (`query({ prompt, options: { resume: session } })`); null: he said stop, or nothing for it, or it is not escalated.
 * A service that is away is waited for.
 * @throws Error where an option cannot be read, or the service knows no such session; the signal's reason
 */
export async function untilResolved(session: string, options: UntilResolvedOptions = {}): Promise<string | null> {
  const { http = '127.0.0.1:4280', signal } = options;
  const asked = { http: readHttp(http), token: readToken(options.token), agent: 'claude', worker: session, signal };
  for (;;) {
    signal?.throwIfAborted();
    const answer: Asked = await askForWord(asked);
    signal?.throwIfAborted();
    if (answer.kind === 'word') return answer.prompt;
    if (answer.kind === 'rejected') throw new Error(answer.why);
    if (answer.kind === 'away') await pause(retryMs, signal);
  }
}
