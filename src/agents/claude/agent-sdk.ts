/**
 * Hooks for the Claude Agent SDK: `query({ prompt, options: { hooks: stopHooks() } })`. The SDK's callbacks use the
 * same JSON as Claude Code's hooks, so each posts its input to the service over HTTP. This file does not depend on the
 * SDK.
 */
import { answerTimeoutMs, notJudged } from '../../hook-command/agent.ts';
import { readHttp, readToken } from '../../hook-command/options.ts';
import { newKey, post, postAgain } from '../../hook-command/post.ts';
import { fetchResolution, pause, retryMs } from '../../hook-command/wake.ts';
import {
  checkedEvents,
  checkSeconds,
  type HookEvent,
  stopEvents,
  stopSeconds,
  storedEvents,
} from '../setup/hook-events.ts';
import { type Form, isPosted } from '../setup/line.ts';
import { hookCommand } from './hook-command.ts';

export type StopHooksOptions = {
  /** `HOST:PORT`, a port or a URL. Default: 127.0.0.1:4280. */
  readonly http?: string;
  /** The policy for the sessions. */
  readonly policy?: string;
  /** Needed if the service requires one. */
  readonly token?: string;
  /** Called when a stop was allowed because it could not be judged. Default: emits a process warning. */
  readonly onUnjudged?: (message: string) => void;
};

/** The input of a callback. All other keys are posted too. */
export type HookInput = { readonly hook_event_name: string };
/** The service's answer. All keys are defined by the SDK. */
export type HookOutput = {
  continue?: boolean;
  stopReason?: string;
  systemMessage?: string;
  decision?: 'block';
  reason?: string;
  hookSpecificOutput?:
    | { hookEventName: 'PreToolUse'; permissionDecision: 'deny'; permissionDecisionReason: string }
    | {
        hookEventName: 'PermissionRequest';
        decision:
          | { behavior: 'allow'; updatedInput?: Record<string, unknown> }
          | { behavior: 'deny'; message?: string };
      }
    | {
        hookEventName: 'PostToolBatch' | 'PostToolUse' | 'SessionStart' | 'Stop' | 'SubagentStop' | 'UserPromptSubmit';
        additionalContext: string;
      };
};
export type HookCallback = (
  input: HookInput,
  toolUseId: string | undefined,
  options: { signal: AbortSignal },
) => Promise<HookOutput>;
/** Callbacks by event name. */
export type StopHooks = Record<string, { hooks: HookCallback[]; timeout: number }[]>;

/** How long a call is retried after its answer was lost. */
const lostMs = 2_000;

const warn = (message: string): void => process.emitWarning(message, 'StopgateWarning');

/**
 * Returns the `hooks` of the SDK's options. If the service is unreachable or does not answer in time, the agent may
 * stop, with a message in its session and a call of `onUnjudged`.
 * @throws Error if an option is invalid
 */
export function stopHooks(options: StopHooksOptions = {}): StopHooks {
  const { http = '127.0.0.1:4280', policy, onUnjudged = warn } = options;
  const token = readToken(options.token);
  const url = new URL(`${readHttp(http)}/hooks/claude`);
  if (policy !== undefined) url.searchParams.set('policy', policy);
  const ask: HookCallback = async (input, _toolUseId, { signal }) => {
    const { hook_event_name: event, tool_name: tool = '' } = input as HookInput & { tool_name?: string };
    const timeoutMs = answerTimeoutMs(hookCommand, { event, tool });
    const body = Buffer.from(JSON.stringify(input));
    const key = newKey();
    const send = () => post({ url: url.href, token, key, body, timeoutMs, signal });
    const posted = await postAgain(await send(), send, { forMs: lostMs, whileAway: false });
    if (posted.kind === 'answer') return posted.body ?? {};
    if (!hookCommand.isStop(event, tool)) return {};
    const systemMessage = `stopgate: ${notJudged('this stop', posted.why, 'It is allowed.')}`;
    onUnjudged(systemMessage);
    return { systemMessage };
  };
  return Object.fromEntries(
    listEvents('command').map(({ name, seconds: timeout }) => [name, [{ hooks: [ask], timeout }]]),
  );
}

export type UntilResolvedOptions = Pick<StopHooksOptions, 'http' | 'token'> & {
  /** Aborts the wait, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
};

/**
 * Waits until a person has resolved the escalation of a session whose query has ended. Keeps trying while the service
 * is unreachable.
 * @returns the prompt to continue with (`query({ prompt, options: { resume: session } })`), or null if the session
 * should stop, has no prompt, or is not escalated
 * @throws Error if an option is invalid or the session unknown; the signal's reason if aborted
 */
export async function untilResolved(session: string, options: UntilResolvedOptions = {}): Promise<string | null> {
  const { http = '127.0.0.1:4280', signal } = options;
  const question = { http: readHttp(http), token: readToken(options.token), agent: 'claude', worker: session, signal };
  for (;;) {
    signal?.throwIfAborted();
    const answer = await fetchResolution(question);
    signal?.throwIfAborted();
    if (answer.kind === 'resolved') return answer.prompt;
    if (answer.kind === 'rejected') throw new Error(answer.why);
    if (answer.kind === 'unreachable') await pause(retryMs, signal);
  }
}

/** The events with stopgate hooks, both here and in Claude Code's settings. */
export function listEvents(form: Form): HookEvent[] {
  return [
    // Claude Code never posts SessionStart over HTTP.
    ...storedEvents(...(isPosted(form, { isStop: false }) ? [] : ['SessionStart']), 'UserPromptSubmit'),
    // Judges structured output before it is accepted. For other tools, the hook command gives up much earlier.
    { name: 'PreToolUse', isStop: false, seconds: form === 'command' ? stopSeconds : checkSeconds },
    // May be held for an operator's answer (`ask`).
    { name: 'PermissionRequest', isStop: false, seconds: stopSeconds },
    ...storedEvents('PreSkillShellCommand', 'PermissionDenied', 'Notification', 'Elicitation', 'ElicitationResult'),
    ...storedEvents('PostToolUse', 'PostToolUseFailure'),
    ...checkedEvents('PostToolBatch'),
    ...storedEvents('StopFailure'),
    ...stopEvents('TaskCompleted', 'SubagentStop', 'Stop'),
    ...storedEvents('SubagentStart', 'SessionEnd'),
  ];
}
