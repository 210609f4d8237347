/**
 * Programs that run the hooks of Claude Code's settings (`.claude/settings.json`), recognised by what they send. A call
 * is read by the adapter of its program, and answered in the form that the program honours.
 *
 * | program | recognised by | a stop is blocked by |
 * | --- | --- | --- |
 * | Copilot CLI and app | `timestamp` beside `hook_event_name` | `decision` and `reason` (tested with 1.0.102) |
 * | VS Code | `timestamp` beside `hookEventName` | `hookSpecificOutput` with `decision` and `reason` |
 * | Cursor | `conversation_id` or `cursor_version` | `followup_message` |
 * | Devin CLI | `prompt_id` without `cwd` and `transcript_path` | `decision` and `reason` |
 * | Grok Build | `workspaceRoot` beside `hookEventName` | nothing: only its tools can be blocked |
 * | any other | `hookEventName` or `sessionId` | nothing known |
 *
 * All rows but Copilot's follow the vendors' documentation. A program that sends exactly what Claude Code sends is
 * taken for Claude Code.
 */
import { type Agent, defineAgent, type HookCall, type ReadHook } from '../agent.ts';
import { copilot, copilotAdapter } from '../copilot/adapter.ts';
import { cursor } from '../cursor/adapter.ts';
import { claudeAdapter, claudeCode } from './adapter.ts';

type Body = Readonly<Record<string, unknown>>;

type Caller = {
  readonly readHook: ReadHook;
  readonly matches: (body: Body) => boolean;
  /** Converts the body to the form that `readHook` reads. */
  readonly convert?: (body: Body) => Body;
  /** Converts the answer of `readHook` to one that the program honours. */
  readonly answer?: (answer: object, event: string) => object;
};

const has = (body: Body, key: string): boolean => body[key] !== undefined && body[key] !== null;

const vscode = defineAgent({ ...copilotAdapter, name: 'vscode', title: 'VS Code', resume: null });
const devin = defineAgent({ ...claudeAdapter, name: 'devin', title: 'Devin CLI', resume: null });

/** The calls are stored, and a stop is allowed as `unjudged`, because the program is not known to obey an answer. */
const unstoppable = (name: string, title: string): ReadHook =>
  defineAgent({
    ...claudeAdapter,
    name,
    title,
    resume: null,
    stop: (call, prior) => {
      const attempt = claudeAdapter.stop(call, prior);
      return attempt === null ? null : { ...attempt, unjudged: title };
    },
    ask: () => null,
    check: () => null,
  }).readHook;

/** The first whose `matches` accepts the body reads the call. */
const callers: readonly Caller[] = [
  {
    matches: (body) => has(body, 'conversation_id') || has(body, 'cursor_version'),
    readHook: cursor.readHook,
    convert: toCursor,
    answer: withBlock,
  },
  {
    matches: (body) => has(body, 'workspaceRoot') && has(body, 'hookEventName'),
    readHook: unstoppable('grok', 'Grok Build'),
    convert: toSnakeCase,
  },
  { matches: (body) => isTimed(body) && has(body, 'hookEventName'), readHook: vscode.readHook, answer: withNested },
  { matches: (body) => isTimed(body) && has(body, 'hook_event_name'), readHook: copilot.readHook, answer: withNested },
  {
    matches: (body) => has(body, 'prompt_id') && !has(body, 'cwd') && !has(body, 'transcript_path'),
    readHook: devin.readHook,
  },
  {
    matches: (body) => !has(body, 'session_id') && (has(body, 'hookEventName') || has(body, 'sessionId')),
    readHook: unstoppable('unknown', 'A program that stopgate does not know'),
    convert: toSnakeCase,
  },
];

const isTimed = ({ timestamp }: Body): boolean => typeof timestamp === 'string';

/** Claude Code, and the programs that run its hooks. */
export const claude: Agent = {
  ...claudeCode,
  readHook(body, event) {
    const caller = isObject(body) ? callers.find(({ matches }) => matches(body)) : undefined;
    if (caller === undefined) return claudeCode.readHook(body, event);
    const { readHook, convert = unchanged, answer = unchanged } = caller;
    const call = readHook(convert(body as Body), event);
    return { ...call, answer: convertAnswer(call, answer) };
  },
};

const isObject = (body: unknown): body is Body => typeof body === 'object' && body !== null && !Array.isArray(body);

const unchanged = <Value>(value: Value): Value => value;

const convertAnswer =
  (call: HookCall, convert: NonNullable<Caller['answer']>): HookCall['answer'] =>
  (decision, check) => {
    const answer = call.answer(decision, check);
    return answer === null ? null : convert(answer, call.event);
  };

// --- forms ----------------------------------------------------------------------------------------------------

/** Cursor calls Claude Code's hooks for its own events, under either name. */
const cursorEvents: Readonly<Record<string, string>> = {
  SessionStart: 'sessionStart',
  SessionEnd: 'sessionEnd',
  UserPromptSubmit: 'beforeSubmitPrompt',
  PreToolUse: 'preToolUse',
  PostToolUse: 'postToolUse',
  PostToolUseFailure: 'postToolUseFailure',
  SubagentStart: 'subagentStart',
  SubagentStop: 'subagentStop',
  Stop: 'stop',
};

function toCursor(body: Body): Body {
  const { hook_event_name: event, session_id: session, conversation_id: conversation = session } = body;
  const own = typeof event === 'string' && Object.hasOwn(cursorEvents, event) ? cursorEvents[event] : event;
  return { ...body, conversation_id: conversation, hook_event_name: own };
}

/** Cursor documents that it also reads Claude Code's answers. Both forms together are understood either way. */
function withBlock(answer: object): object {
  const { followup_message: reason } = answer as { readonly followup_message?: string };
  return reason === undefined ? answer : { ...answer, decision: 'block', reason };
}

/** VS Code reads the decision about a stop from `hookSpecificOutput`, and about a sub-agent's from the top level. */
function withNested(answer: object, event: string): object {
  const { decision, reason } = answer as { readonly decision?: string; readonly reason?: string };
  if (decision !== 'block') return answer;
  const hookEventName = event === 'subagentStop' ? 'SubagentStop' : 'Stop';
  return { ...answer, hookSpecificOutput: { hookEventName, decision, reason } };
}

/** `hookEventName`, `sessionId` and the like become Claude Code's names. The values keep their form. */
function toSnakeCase(body: Body): Body {
  const snakeCase = (key: string) => key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(body).map(([key, value]) => [snakeCase(key), value]));
}
