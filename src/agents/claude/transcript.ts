/**
 * Reads the transcripts of Claude Code (`~/.claude/projects/**.jsonl`) as hook calls. Tested with 2.1.330. Older
 * versions omit fields, such as the reason for which a message ended; then the lines that follow decide.
 *
 * A transcript does not record the end of a turn. A turn ends with a message of the model that uses no tool, when a
 * prompt, the feedback of a Stop hook or the end of the file follows.
 */
import { roundUsd } from '../../../machines/values/usage.ts';
import { setNewest } from '../../set-newest.ts';
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

export const claudeTranscripts: Recording = {
  agent: 'claude',
  canSkip: (line) => {
    // One of the first fields names the kind of the line.
    const head = line.slice(0, 400);
    if (head.startsWith('{"type":"api-request') || head.startsWith('{"type":"file-history-snapshot"')) return true;
    return head.includes('"attachment":{') && !head.includes('"attachment":{"type":"queued_command"');
  },
  identify: ({ sessionId, isSidechain, agentId, uuid }) => {
    const session = textOf(sessionId);
    if (session === undefined || session === '') return null;
    // Lines without an id precede the conversation and do not say whether it is a sub-agent's.
    if (textOf(uuid) === undefined) return null;
    return { session, child: isSidechain === true ? (textOf(agentId) ?? null) : null };
  },
  open: createReader,
};

/** A message of the model that ends the turn, unless it turns out to continue. */
type Ending = {
  readonly message: string;
  /** Null in older versions, and while a message grows. */
  readonly reason: string | null;
  readonly key: string;
  readonly atMs: number | null;
  readonly cwd: string | undefined;
  text: string;
};

type Work = { readonly id: string; readonly type: string; readonly command: string; readonly status: 'running' };

/** A session, or one of its sub-agents. */
type Chain = {
  readonly child: string | null;
  kind: string | null;
  isStarted: boolean;
  ending: Ending | null;
  /** A slash command, until it is known whether it starts a turn. */
  command: RecordedStep | null;
  turn: string | null;
  /** The last message, whose usage the following lines of the same message repeat or complete. */
  usage: { readonly message: string; readonly atMs: number | null; readonly report: RecordedFields } | null;
  /** Tool calls without a result, by id. */
  readonly tools: Map<string, { readonly name: string; readonly input: unknown }>;
  /** Background work that has not ended, by id. */
  readonly background: Map<string, Work>;
};

/** Maximum per turn. An agent runs a few tools at a time. */
const toolsMax = 1_000;
/** A Stop hook does not list more than this. */
const backgroundMax = 200;
/** Older versions keep sub-agents in the main file. Maximum of such sub-agents, and of lines that identify them. */
const chainsMax = 1_000;
const sidechainLinesMax = 20_000;

/** Reasons for which a message ends although the turn continues. */
const continuingReasons: ReadonlySet<string> = new Set([
  'tool_use',
  'pause_turn',
  'max_tokens',
  'model_context_window_exceeded',
]);

/**
 * Tools whose start matters: the delivery of an output is a stop, and a question waits for a person. The start of any
 * other tool shows only that the agent is alive, which its end shows too.
 */
const judgedAtStart: ReadonlySet<string> = new Set(['StructuredOutput', 'AskUserQuestion']);

/** A prompt from one of these sources is a person's. Any other source, such as `system`, is passed on unchanged. */
const personSources: ReadonlySet<string | undefined> = new Set(['typed', 'queued', 'suggestion_accepted', 'user']);

/** Internal sub-agents, for compaction and suggestions. Their stops do not count. */
const internalChild = /^a(?:compact|prompt_suggestion|side_question)\b/;

const interruption = /^\[Request interrupted by user\b/;
const localOutput = /^<(?:local-command-(?:stdout|stderr|caveat)|bash-(?:input|stdout|stderr))>/;
const slashCommand = /<command-name>([^<]{1,200})<\/command-name>/;
const commandArguments = /<command-args>([^<]*)<\/command-args>/;
const hookFeedback = /^(?:Subagent)?Stop hook feedback:/i;
const rejection = /^The user doesn't want to (?:proceed with|take) this (?:tool use|action)/;

function createReader({ session, child: ownChild }: RecordedSession): RecordReader {
  const chains = new Map<string, Chain>();
  /** By line id: the sub-agent, in versions that kept unnamed sub-agents in the main file. */
  const sidechains = new Map<string, string>();
  let sidechainCount = 0;
  let newestMs: number | null = null;
  /** The session's cost so far. */
  let costUsd = 0;

  function chainOf(line: RecordedFields): Chain {
    const child = ownChild ?? (line.isSidechain === true ? childOf(line) : null);
    const known = chains.get(child ?? '');
    if (known !== undefined) return known;
    const chain: Chain = {
      child,
      kind: null,
      isStarted: false,
      ending: null,
      command: null,
      turn: null,
      usage: null,
      tools: new Map(),
      background: new Map(),
    };
    setNewest(chains, child ?? '', chain, chainsMax);
    return chain;
  }

  function childOf({ agentId, uuid, parentUuid }: RecordedFields): string {
    const named = textOf(agentId);
    if (named !== undefined) return named;
    const above = sidechains.get(textOf(parentUuid) ?? '');
    if (above === undefined) sidechainCount += 1;
    const child = above ?? `side${sidechainCount}`;
    const id = textOf(uuid);
    if (id !== undefined) setNewest(sidechains, id, child, sidechainLinesMax);
    return child;
  }

  function bodyOf(chain: Chain, event: string, fields: RecordedFields): RecordedFields {
    const { child, kind } = chain;
    const caller = child === null ? {} : { agent_id: child, agent_type: kind ?? 'unknown' };
    return { session_id: session, hook_event_name: event, ...caller, ...fields };
  }

  function callOf(chain: Chain, line: RecordedFields, event: string, fields: RecordedFields): RecordedStep {
    return {
      kind: 'call',
      atMs: timeOf(line.timestamp),
      turn: chain.turn,
      key: textOf(line.uuid) ?? '',
      body: bodyOf(chain, event, { cwd: textOf(line.cwd), ...fields }),
    };
  }

  /** Ends the turn if its last message allows that. @param isOver true if the next line shows that the turn is over */
  function settle(chain: Chain, isOver: boolean): RecordedStep[] {
    const { ending, child } = chain;
    chain.ending = null;
    const steps = takeUsage(chain);
    if (ending === null || (ending.reason === null && !isOver)) return steps;
    const event = child === null ? 'Stop' : 'SubagentStop';
    const fields = {
      cwd: ending.cwd,
      last_assistant_message: ending.text,
      background_tasks: [...chain.background.values()],
    };
    const body = bodyOf(chain, event, fields);
    return [...steps, { kind: 'call', atMs: ending.atMs, turn: chain.turn, key: ending.key, body }];
  }

  function takeUsage(chain: Chain): RecordedStep[] {
    const { usage } = chain;
    chain.usage = null;
    if (usage === null) return [];
    const report = {
      input: countOf(usage.report.input_tokens),
      output: countOf(usage.report.output_tokens),
      cacheRead: countOf(usage.report.cache_read_input_tokens),
      cacheWrite: countOf(usage.report.cache_creation_input_tokens),
    };
    if (report.input + report.output + report.cacheRead + report.cacheWrite === 0) return [];
    return [{ kind: 'usage', atMs: usage.atMs, turn: chain.turn, worker: session, report }];
  }

  /**
   * In newer versions, a process writes the session's total cost when it ends. The line has no time. A resumed session
   * continues the total.
   */
  function readCost({ totalCostUSD: total, sessionId }: RecordedFields): RecordedStep[] {
    if (ownChild !== null || sessionId !== session) return [];
    if (typeof total !== 'number' || !Number.isFinite(total) || total <= costUsd) return [];
    const usd = roundUsd(total - costUsd);
    costUsd = total;
    return [{ kind: 'usage', atMs: newestMs, turn: chains.get('')?.turn ?? null, worker: session, report: { usd } }];
  }

  /** A session reports its start first. Nothing in a transcript says how it was started. */
  function start(chain: Chain, line: RecordedFields): RecordedStep[] {
    if (chain.isStarted) return [];
    chain.isStarted = true;
    if (chain.child !== null) return [callOf(chain, line, 'SubagentStart', {})];
    return [callOf(chain, line, 'SessionStart', { source: 'startup', permission_mode: textOf(line.permissionMode) })];
  }

  function readAssistant(chain: Chain, line: RecordedFields): RecordedStep[] {
    const message = fieldsOf(line.message);
    const text = listOf(message.content)
      .flatMap(({ type, text }) => (type === 'text' ? (textOf(text) ?? []) : []))
      .join('\n');
    chain.kind ??= textOf(line.attributionAgent) ?? null;
    if (line.isApiErrorMessage === true) {
      const steps = settle(chain, false);
      return [
        ...steps,
        callOf(chain, line, 'StopFailure', { error: textOf(line.error), last_assistant_message: text }),
      ];
    }
    // Claude Code's own words, such as "No response requested."
    if (message.model === '<synthetic>') return [];
    const id = textOf(message.id) ?? textOf(line.uuid) ?? '';
    const steps = [...takeCommand(chain), ...(chain.usage?.message === id ? [] : takeUsage(chain))];
    if (chain.ending !== null && chain.ending.message !== id) steps.push(...settle(chain, false));
    steps.push(...start(chain, line));
    chain.usage = { message: id, atMs: timeOf(line.timestamp), report: fieldsOf(message.usage) };
    const calls = listOf(message.content).filter(({ type }) => type === 'tool_use');
    for (const { id: call, name, input } of calls) {
      const tool = textOf(name) ?? '';
      setNewest(chain.tools, textOf(call) ?? '', { name: tool, input }, toolsMax);
      if (!judgedAtStart.has(tool)) continue;
      const fields = { tool_name: tool, tool_input: input, tool_use_id: textOf(call) };
      steps.push(callOf(chain, line, 'PreToolUse', fields));
    }
    const reason = textOf(message.stop_reason) ?? null;
    if (calls.length > 0 || (reason !== null && continuingReasons.has(reason))) chain.ending = null;
    else if (reason !== null || text !== '')
      chain.ending = {
        message: id,
        reason,
        key: textOf(line.uuid) ?? id,
        atMs: timeOf(line.timestamp),
        cwd: textOf(line.cwd),
        text: [chain.ending?.text ?? '', text].filter((part) => part !== '').join('\n'),
      };
    return steps;
  }

  function readUser(chain: Chain, line: RecordedFields): RecordedStep[] {
    const { content } = fieldsOf(line.message);
    const results = listOf(content).filter(({ type }) => type === 'tool_result');
    if (results.length > 0) return results.flatMap((result) => readResult(chain, line, result, results.length === 1));
    const text =
      textOf(content) ??
      listOf(content)
        .flatMap(({ type, text }) => (type === 'text' ? (textOf(text) ?? []) : []))
        .join('\n');
    if (line.isMeta === true) return hookFeedback.test(text) ? settle(chain, true) : takeCommand(chain);
    if (line.isCompactSummary === true || line.isVisibleInTranscriptOnly === true) return [];
    if (interruption.test(text)) return settle(chain, false);
    if (localOutput.test(text)) {
      chain.command = null;
      return [];
    }
    const steps = [...takeCommand(chain), ...settle(chain, true)];
    chain.turn = textOf(line.uuid) ?? null;
    steps.push(...start(chain, line));
    // A sub-agent's task is not a prompt: Claude Code sends no hook call for it.
    if (chain.child !== null) return steps;
    const name = slashCommand.exec(text)?.[1];
    if (name === undefined) return [...steps, readPrompt(chain, line, text, textOf(line.promptSource))];
    const typed = `${name} ${commandArguments.exec(text)?.[1] ?? ''}`.trim();
    chain.command = readPrompt(chain, line, typed, textOf(line.promptSource));
    return steps;
  }

  function readPrompt(chain: Chain, line: RecordedFields, prompt: string, source: string | undefined): RecordedStep {
    for (const [, id] of prompt.matchAll(/<task-id>([^<]{1,200})<\/task-id>/g))
      chain.background.delete((id ?? '').trim());
    return callOf(chain, line, 'UserPromptSubmit', {
      prompt,
      source: personSources.has(source) ? 'user' : source,
      permission_mode: textOf(line.permissionMode),
    });
  }

  /** A command of Claude Code's own, such as /compact, is followed by its output and starts no turn. */
  function takeCommand(chain: Chain): RecordedStep[] {
    const { command } = chain;
    chain.command = null;
    return command === null ? [] : [command];
  }

  function readResult(chain: Chain, line: RecordedFields, result: RecordedFields, isOnly: boolean): RecordedStep[] {
    const id = textOf(result.tool_use_id) ?? '';
    const call = chain.tools.get(id);
    chain.tools.delete(id);
    // A structured output was judged before it was delivered, so nothing is left to check.
    if (call === undefined || call.name === 'StructuredOutput') return [];
    const response = isOnly ? (line.toolUseResult ?? result.content) : result.content;
    const isFailure = result.is_error === true;
    const words = textOf(result.content) ?? '';
    if (isFailure && rejection.test(words)) return [];
    noteBackground(chain, call, fieldsOf(response));
    return [
      callOf(chain, line, isFailure ? 'PostToolUseFailure' : 'PostToolUse', {
        tool_name: call.name,
        tool_input: call.input,
        tool_use_id: id,
        tool_response: response,
      }),
    ];
  }

  function noteBackground(chain: Chain, { name, input }: { name: string; input: unknown }, response: RecordedFields) {
    const { shell_id, task_id, command, description } = fieldsOf(input);
    if (name === 'KillShell' || name === 'TaskStop') chain.background.delete(textOf(shell_id) ?? textOf(task_id) ?? '');
    const shell = textOf(response.backgroundTaskId);
    const agent = response.status === 'async_launched' ? textOf(response.agentId) : undefined;
    const id = shell ?? agent;
    if (id === undefined) return;
    const type = shell === undefined ? 'subagent' : 'shell';
    const shown = textOf(command) ?? textOf(description) ?? '';
    setNewest(chain.background, id, { id, type, command: shown, status: 'running' }, backgroundMax);
  }

  return {
    read(line) {
      if (line.type === 'cost-state') return readCost(line);
      newestMs = timeOf(line.timestamp) ?? newestMs;
      if (internalChild.test(textOf(line.agentId) ?? '')) return [];
      if (line.type === 'assistant') return readAssistant(chainOf(line), line);
      if (line.type === 'user') return readUser(chainOf(line), line);
      if (line.type === 'system' && (line.subtype === 'stop_hook_summary' || line.subtype === 'turn_duration'))
        return settle(chainOf(line), true);
      const queued = fieldsOf(line.attachment);
      if (line.type !== 'attachment' || queued.type !== 'queued_command') return [];
      const chain = chainOf(line);
      const prompt = textOf(queued.prompt);
      if (chain.child !== null || prompt === undefined) return [];
      // Queued while the agent was working, so the turn continues.
      return [readPrompt(chain, line, prompt, queued.commandMode === 'prompt' ? 'queued' : 'system')];
    },
    end: () => [...chains.values()].flatMap((chain) => [...takeCommand(chain), ...settle(chain, true)]),
  };
}
