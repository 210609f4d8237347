/**
 * Reads usage from agents' OpenTelemetry signals. Agents report each model request in several signals. To avoid
 * counting twice, we read one signal per agent, the one whose items have an identity: spans for Copilot, events for the
 * others. Claude Code's metrics repeat its events, so each report names its signal as its source, and the fleet counts
 * only the source that readUsage first for a session.
 *
 * Signals that are not listed here do not count towards a budget. `doctor` warns about a budget that counts nothing.
 */
import type { UsageReport } from '../../machines/index.ts';
import { toId } from './shared/text.ts';

/** Numbers may arrive as strings. */
export type TelemetryAttributes = ReadonlyMap<string, string | number | boolean>;
/** `worker` is the id of the worker that the session maps to. */
export type ReportedUsage = { readonly worker: string; readonly report: UsageReport };

type Reader = {
  /** The attribute that holds the session id. */
  readonly session: string;
  readonly read: (attributes: TelemetryAttributes) => UsageReport;
};

/** Tested with 2.1.332. */
const claude: Reader = {
  session: 'session.id',
  read: (attributes) => ({
    input: amount(attributes, 'input_tokens'),
    output: amount(attributes, 'output_tokens'),
    cacheRead: amount(attributes, 'cache_read_tokens'),
    cacheWrite: amount(attributes, 'cache_creation_tokens'),
    usd: amount(attributes, 'cost_usd'),
  }),
};
/** Tested with 0.171.0. The input count includes cached input. */
const codex: Reader = {
  session: 'conversation.id',
  read(attributes) {
    const cacheRead = amount(attributes, 'cached_token_count') ?? 0;
    const cacheWrite = amount(attributes, 'cache_write_token_count') ?? 0;
    const input = Math.max(0, (amount(attributes, 'input_token_count') ?? 0) - cacheRead - cacheWrite);
    return { input, output: amount(attributes, 'output_token_count'), cacheRead, cacheWrite };
  },
};
/**
 * Tested with Gemini CLI 0.61.0 and Qwen Code 0.24.4. Thoughts count as output. Qwen's output count includes them and
 * Gemini's does not; the total shows which.
 */
const gemini: Reader = {
  session: 'session.id',
  read(attributes) {
    const cacheRead = amount(attributes, 'cached_content_token_count') ?? 0;
    const tools = amount(attributes, 'tool_token_count') ?? 0;
    const input = amount(attributes, 'input_token_count') ?? 0;
    const output = amount(attributes, 'output_token_count') ?? 0;
    const thoughts = amount(attributes, 'thoughts_token_count') ?? 0;
    const includesThoughts = amount(attributes, 'total_token_count') === input + output;
    return {
      input: Math.max(0, input - cacheRead) + tools,
      output: includesThoughts ? output : output + thoughts,
      cacheRead,
    };
  },
};
/**
 * The GenAI conventions (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/). Tested with Copilot CLI
 * 1.0.102, which uses its own attribute for cache writes.
 */
const conventions: Reader = {
  session: 'gen_ai.conversation.id',
  read(attributes) {
    const cacheRead = amount(attributes, 'gen_ai.usage.cache_read.input_tokens') ?? 0;
    const written = ['gen_ai.usage.cache_creation.input_tokens', 'gen_ai.usage.cache_write.input_tokens'];
    const cacheWrite = written.map((name) => amount(attributes, name)).find((count) => count !== undefined) ?? 0;
    const input = Math.max(0, (amount(attributes, 'gen_ai.usage.input_tokens') ?? 0) - cacheRead - cacheWrite);
    return { input, output: amount(attributes, 'gen_ai.usage.output_tokens'), cacheRead, cacheWrite };
  },
};

const events: ReadonlyMap<string, Reader> = new Map([
  ['claude_code.api_request', claude],
  ['codex.sse_event', codex],
  ['gemini_cli.api_response', gemini],
  ['qwen-code.api_response', gemini],
]);

/**
 * Returns null for an event without usage. Claude Code's `event.name` attribute omits the prefix, so both names match.
 */
export function usageOfEvent(name: string, attributes: TelemetryAttributes): ReportedUsage | null {
  const reader = events.get(name) ?? events.get(`claude_code.${name}`);
  if (reader === undefined) return null;
  if (reader === codex && attributes.get('event.kind') !== 'response.completed') return null;
  return readUsage(reader, attributes);
}

/** Returns null unless the span is a model request of Copilot. The other agents' events are read instead. */
export function usageOfSpan(service: string, attributes: TelemetryAttributes): ReportedUsage | null {
  if (!/copilot/i.test(service) || attributes.get('gen_ai.operation.name') !== 'chat') return null;
  return readUsage(conventions, attributes);
}

const claudeTokens: ReadonlyMap<unknown, keyof UsageReport> = new Map([
  ['input', 'input'],
  ['output', 'output'],
  ['cacheRead', 'cacheRead'],
  ['cacheCreation', 'cacheWrite'],
]);

/**
 * Reads Claude Code's cost and token metrics. Returns null for any other metric, and for a point without a session or
 * usage.
 * @param value the increase since the previous report
 */
export function usageOfMetric(name: string, attributes: TelemetryAttributes, value: number): ReportedUsage | null {
  const field =
    name === 'claude_code.cost.usage'
      ? 'usd'
      : name === 'claude_code.token.usage'
        ? claudeTokens.get(attributes.get('type'))
        : undefined;
  return field === undefined
    ? null
    : readUsage({ session: 'session.id', read: () => ({ [field]: value }) }, attributes);
}

function readUsage({ session, read }: Reader, attributes: TelemetryAttributes): ReportedUsage | null {
  const id = attributes.get(session) ?? attributes.get('session.id');
  if (typeof id !== 'string' || id === '') return null;
  const model =
    attributes.get('gen_ai.response.model') ?? attributes.get('gen_ai.request.model') ?? attributes.get('model');
  const counts = Object.entries(read(attributes)).filter(([, value]) => value !== undefined && value !== 0);
  // Codex reports the end of a response twice, once without counts.
  if (counts.length === 0) return null;
  const named = typeof model === 'string' && model !== '' ? { model: model.slice(0, modelLengthMax) } : {};
  return { worker: toId(id), report: { ...Object.fromEntries(counts), ...named } };
}

/** Known model names have at most 60 characters. */
const modelLengthMax = 256;

/** Returns undefined if the attribute is missing or not a non-negative number. */
function amount(attributes: TelemetryAttributes, name: string): number | undefined {
  const value = attributes.get(name);
  const read = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof read === 'number' && Number.isFinite(read) && read >= 0 ? read : undefined;
}
