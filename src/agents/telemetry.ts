/**
 * Reads usage from agents' own telemetry (OpenTelemetry). Each agent reports one request to its model in several
 * signals; of each one signal is read, that whose items have an identity, so that nothing counts twice: events for
 * those that have them, spans for Copilot. Claude Code's metrics say the same as its events, so a report names the signal as
 * its source, and of a session the fleet counts the source that reported first.
 *
 * An event, a span or a metric that is not on these lists is no usage that we know: a budget does not count it. `doctor` warns
 * of a budget that counts nothing.
 */
import type { UsageReport } from '../../machines/index.ts';
import { toId } from './shared/text.ts';

/** Numbers may come as texts. */
export type TelemetryAttributes = ReadonlyMap<string, string | number | boolean>;
/** `worker`: whom the session is known as. */
export type ReportedUsage = { readonly worker: string; readonly report: UsageReport };

type Reader = {
  readonly session: string;
  /** Input that was read from the cache is a part of the input. */
  readonly read: (at: TelemetryAttributes) => UsageReport;
};

/** Seen with 2.1.330. */
const claude: Reader = {
  session: 'session.id',
  read: (at) => ({
    input: amount(at, 'input_tokens'),
    output: amount(at, 'output_tokens'),
    cacheRead: amount(at, 'cache_read_tokens'),
    cacheWrite: amount(at, 'cache_creation_tokens'),
    usd: amount(at, 'cost_usd'),
  }),
};
/** Seen with 0.169.0. Other events of a stream have no counts. */
const codex: Reader = {
  session: 'conversation.id',
  read(at) {
    const [cacheRead = 0, cacheWrite = 0] = [amount(at, 'cached_token_count'), amount(at, 'cache_write_token_count')];
    const input = Math.max(0, (amount(at, 'input_token_count') ?? 0) - cacheRead - cacheWrite);
    return { input, output: amount(at, 'output_token_count'), cacheRead, cacheWrite };
  },
};
/**
 * Seen with Gemini CLI 0.61.0 and Qwen Code 0.24.4. Thoughts are output: with Gemini beside its count, with Qwen within
 * it, which the total tells.
 */
const gemini: Reader = {
  session: 'session.id',
  read(at) {
    const [cacheRead = 0, tools = 0] = [amount(at, 'cached_content_token_count'), amount(at, 'tool_token_count')];
    const [input = 0, output = 0] = [amount(at, 'input_token_count'), amount(at, 'output_token_count')];
    const thoughts = amount(at, 'thoughts_token_count') ?? 0;
    const isWithin = amount(at, 'total_token_count') === input + output;
    return { input: Math.max(0, input - cacheRead) + tools, output: output + (isWithin ? 0 : thoughts), cacheRead };
  },
};
/**
 * By the GenAI conventions (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/). Seen with Copilot CLI
 * 1.0.102, which has a name of its own for what is written to a cache.
 */
const conventions: Reader = {
  session: 'gen_ai.conversation.id',
  read(at) {
    const cacheRead = amount(at, 'gen_ai.usage.cache_read.input_tokens') ?? 0;
    const written = ['gen_ai.usage.cache_creation.input_tokens', 'gen_ai.usage.cache_write.input_tokens'];
    const cacheWrite = written.map((name) => amount(at, name)).find((it) => it !== undefined) ?? 0;
    const input = Math.max(0, (amount(at, 'gen_ai.usage.input_tokens') ?? 0) - cacheRead - cacheWrite);
    return { input, output: amount(at, 'gen_ai.usage.output_tokens'), cacheRead, cacheWrite };
  },
};

const events: ReadonlyMap<string, Reader> = new Map([
  ['claude_code.api_request', claude],
  ['codex.sse_event', codex],
  ['gemini_cli.api_response', gemini],
  ['qwen-code.api_response', gemini],
]);

/** Returns null if it is about something else. @param name of the event; Claude Code's own attribute leaves out the prefix */
export function usageOfEvent(name: string, at: TelemetryAttributes): ReportedUsage | null {
  const reader = events.get(name) ?? events.get(`claude_code.${name}`);
  if (reader === undefined) return null;
  if (reader === codex && at.get('event.kind') !== 'response.completed') return null;
  return reported(reader, at);
}

/** Returns null if it is no request to a model, or one of an agent whose events are read. */
export function usageOfSpan(service: string, at: TelemetryAttributes): ReportedUsage | null {
  if (!/copilot/i.test(service) || at.get('gen_ai.operation.name') !== 'chat') return null;
  return reported(conventions, at);
}

const claudeTokens: ReadonlyMap<unknown, keyof UsageReport> = new Map([
  ['input', 'input'],
  ['output', 'output'],
  ['cacheRead', 'cacheRead'],
  ['cacheCreation', 'cacheWrite'],
]);

/** Returns null if it is another metric. @param value by how much it has grown */
export function usageOfMetric(name: string, at: TelemetryAttributes, value: number): ReportedUsage | null {
  const field =
    name === 'claude_code.cost.usage'
      ? 'usd'
      : name === 'claude_code.token.usage'
        ? claudeTokens.get(at.get('type'))
        : undefined;
  return field === undefined ? null : reported({ session: 'session.id', read: () => ({ [field]: value }) }, at);
}

function reported({ session, read }: Reader, at: TelemetryAttributes): ReportedUsage | null {
  const id = at.get(session) ?? at.get('session.id');
  if (typeof id !== 'string' || id === '') return null;
  const model = at.get('gen_ai.response.model') ?? at.get('gen_ai.request.model') ?? at.get('model');
  const given = Object.entries(read(at)).filter(([, value]) => value !== undefined && value !== 0);
  // Codex ends a response twice, once without counts.
  if (given.length === 0) return null;
  const named = typeof model === 'string' && model !== '' ? { model: model.slice(0, modelLengthMax) } : {};
  return { worker: toId(id), report: { ...Object.fromEntries(given), ...named } };
}

/** Model names have 60 characters at most. */
const modelLengthMax = 256;

/** Returns undefined if it is missing, or no amount. */
function amount(at: TelemetryAttributes, name: string): number | undefined {
  const value = at.get(name);
  const read = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof read === 'number' && Number.isFinite(read) && read >= 0 ? read : undefined;
}
