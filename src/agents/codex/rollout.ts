/**
 * Reads the rollouts of Codex (`~/.codex/sessions/**.jsonl`) as hook calls. Tested with 0.171.0. A turn ends with
 * `task_complete`, or with the feedback of a Stop hook. An aborted turn does not ask to stop.
 */

import { setNewest } from '../../set-newest.ts';
import { tryJson } from '../../text/json-text.ts';
import {
  countOf,
  fieldsOf,
  listOf,
  type RecordedFields,
  type RecordedSession,
  type RecordedStep,
  type Recording,
  type RecordReader,
  textOf,
  timeOf,
} from '../recording.ts';

export const codexRollouts: Recording = {
  agent: 'codex',
  canSkip: (line) => /"type":"(?:world_state|token_usage_record)"/.test(line.slice(0, 200)),
  identify({ type, payload }) {
    if (type !== 'session_meta') return null;
    const { id, session_id, parent_thread_id, source } = fieldsOf(payload);
    const thread = textOf(id);
    if (thread === undefined || thread === '') return null;
    const spawned = fieldsOf(fieldsOf(fieldsOf(source).subagent).thread_spawn);
    const parent = textOf(parent_thread_id) ?? textOf(spawned.parent_thread_id);
    if (parent === undefined) return { session: thread, child: null };
    return { session: textOf(session_id) ?? parent, child: thread };
  },
  open: createReader,
};

/** Maximum per turn. An agent runs a few tools at a time. */
const toolsMax = 1_000;

const hookPrompt = /^<hook_prompt hook_run_id="stop:/;
/** Codex refuses such a call before any hook. */
const refused = /^unsupported (?:custom tool )?call:/;

const contentText = ({ content }: RecordedFields): string =>
  listOf(content)
    .map(({ text }) => textOf(text) ?? '')
    .join('\n');

function createReader({ session, child }: RecordedSession): RecordReader {
  const tools = new Map<string, { readonly name: string; readonly input: RecordedFields }>();
  let cwd: string | undefined;
  let mode: string | undefined;
  let kind: string | undefined;
  let turn: string | null = null;
  let isStarted = false;
  /** True if the model has worked since the turn began. In a compaction, which is a turn too, it has not. */
  let hasWorked = false;
  let stops = 0;
  let message = '';
  let prompt: string | null = null;

  function callOf(line: RecordedFields, event: string, fields: RecordedFields, key = ''): RecordedStep {
    const caller = child === null ? {} : { agent_id: child, agent_type: kind ?? 'default' };
    const body = { session_id: session, hook_event_name: event, cwd, permission_mode: mode, ...caller, ...fields };
    return { kind: 'call', atMs: timeOf(line.timestamp), turn, key, body };
  }

  function start(line: RecordedFields): RecordedStep[] {
    hasWorked = true;
    if (isStarted) return [];
    isStarted = true;
    return [callOf(line, child === null ? 'SessionStart' : 'SubagentStart', { source: 'startup' })];
  }

  function stop(line: RecordedFields, last: string): RecordedStep[] {
    if (!hasWorked) return [];
    stops += 1;
    const event = child === null ? 'Stop' : 'SubagentStop';
    return [callOf(line, event, { last_assistant_message: last }, `${turn ?? session}-${stops}`)];
  }

  function submit(line: RecordedFields, text: string): RecordedStep[] {
    // Some versions write a prompt twice, in two forms.
    if (text === prompt) return [];
    prompt = text;
    return [...start(line), callOf(line, 'UserPromptSubmit', { prompt: text })];
  }

  function readItem(line: RecordedFields, item: RecordedFields): RecordedStep[] {
    switch (item.type) {
      case 'function_call':
        return begin(line, item, fieldsOf(tryJson(textOf(item.arguments) ?? '')));
      case 'custom_tool_call':
        return begin(line, item, { input: item.input });
      case 'local_shell_call':
        return begin(line, { ...item, name: 'local_shell' }, fieldsOf(item.action));
      case 'function_call_output':
      case 'custom_tool_call_output':
        return finish(line, item);
      case 'message': {
        const text = contentText(item);
        if (item.role === 'assistant') {
          message = text;
          return start(line);
        }
        return item.role === 'user' && hookPrompt.test(text) ? stop(line, message) : [];
      }
      default:
        return [];
    }
  }

  function begin(line: RecordedFields, item: RecordedFields, input: RecordedFields): RecordedStep[] {
    const tool = textOf(item.name) ?? '';
    const namespace = textOf(item.namespace) ?? '';
    const name = namespace.startsWith('mcp__') ? `${namespace}__${tool}` : tool;
    const id = textOf(item.call_id) ?? '';
    setNewest(tools, id, { name, input }, toolsMax);
    // The start of a tool shows only that the agent is alive, which its end shows too.
    return start(line);
  }

  function finish(line: RecordedFields, item: RecordedFields): RecordedStep[] {
    const id = textOf(item.call_id) ?? '';
    const call = tools.get(id);
    tools.delete(id);
    if (call === undefined || refused.test(textOf(item.output) ?? '')) return [];
    const fields = { tool_name: call.name, tool_input: call.input, tool_use_id: id, tool_response: item.output };
    return [callOf(line, 'PostToolUse', fields)];
  }

  function readEvent(line: RecordedFields, event: RecordedFields): RecordedStep[] {
    switch (event.type) {
      case 'task_started':
      case 'turn_started':
        turn = textOf(event.turn_id) ?? null;
        hasWorked = false;
        stops = 0;
        message = '';
        prompt = null;
        return [];
      case 'user_message':
        return submit(line, textOf(event.message) ?? '');
      case 'item_completed': {
        const item = fieldsOf(event.item);
        return item.type === 'UserMessage' ? submit(line, contentText(item)) : [];
      }
      case 'token_count':
        return readUsage(line, fieldsOf(fieldsOf(event.info).last_token_usage));
      case 'task_complete':
      case 'turn_complete': {
        const steps = stop(line, textOf(event.last_agent_message) ?? message);
        hasWorked = false;
        return steps;
      }
      case 'turn_aborted':
        hasWorked = false;
        return [];
      default:
        return [];
    }
  }

  /** The input count includes cached input. */
  function readUsage(line: RecordedFields, used: RecordedFields): RecordedStep[] {
    const cacheRead = countOf(used.cached_input_tokens);
    const cacheWrite = countOf(used.cache_write_input_tokens);
    const report = {
      input: Math.max(0, countOf(used.input_tokens) - cacheRead - cacheWrite),
      output: countOf(used.output_tokens),
      cacheRead,
      cacheWrite,
    };
    if (!isStarted || report.input + report.output + cacheRead + cacheWrite === 0) return [];
    return [{ kind: 'usage', atMs: timeOf(line.timestamp), turn, worker: session, report }];
  }

  return {
    read(line) {
      const payload = fieldsOf(line.payload);
      switch (line.type) {
        case 'session_meta':
          cwd ??= textOf(payload.cwd);
          kind ??= textOf(payload.agent_role);
          return [];
        case 'turn_context':
          cwd = textOf(payload.cwd) ?? cwd;
          turn = textOf(payload.turn_id) ?? turn;
          return [];
        case 'response_item':
          return readItem(line, payload);
        case 'event_msg':
          return readEvent(line, payload);
        default:
          return [];
      }
    },
    end: () => [],
  };
}
