/**
 * The APIs of models that a judge speaks: how each is asked for a verdict that has a schema, and what its answer means. The
 * answer must be the verdict; anything else is no answer.
 */
import { z } from 'zod';
import type { JudgeApi, UsageReport } from '../../../machines/index.ts';

export type Verdict = { readonly pass: boolean; readonly reason: string };
/** `system` are our words and the operator's; `user` is the material. */
export type Question = { readonly model: string; readonly system: string; readonly user: string };

export type Api = {
  headers(key: string | null): Record<string, string>;
  /** @param plain for a server that does not know schemas of answers: asks for JSON alone */
  body(question: Question, plain: boolean): object;
  /** `problem`: why it is no verdict. */
  read(answer: unknown): Verdict | { readonly problem: string };
  /** Returns null if it does not say. */
  usage(answer: unknown): UsageReport | null;
};

const verdictSchema = z.object({ pass: z.boolean(), reason: z.string().trim().min(1) });
/** The reason comes first, so that the verdict follows from it. */
const jsonSchema = {
  type: 'object',
  properties: {
    reason: { type: 'string', description: 'what is missing and what to do about it, or why the work is done' },
    pass: { type: 'boolean', description: 'true: everything that is asked for is done' },
  },
  required: ['reason', 'pass'],
  additionalProperties: false,
};

const parseVerdict = (value: unknown): Verdict | { readonly problem: string } =>
  verdictSchema.safeParse(value).data ?? { problem: 'its answer is not { "reason": text, "pass": true or false }' };

const count = z.number().nonnegative().catch(0);
/** Counts are whole numbers of tokens; what is none counts as none. */
const whole = (number: number): number => Math.min(Math.floor(number), Number.MAX_SAFE_INTEGER);

const completion = z.object({
  choices: z
    .array(
      z.object({
        finish_reason: z.string().nullish(),
        message: z.object({ content: z.string().nullish(), refusal: z.string().nullish() }),
      }),
    )
    .min(1),
});
const completionUsage = z.object({
  usage: z.object({
    prompt_tokens: count,
    completion_tokens: count,
    prompt_tokens_details: z.object({ cached_tokens: count }).nullish().catch(null),
    // Gateways that resell models say what a call cost.
    cost: z.number().nonnegative().optional().catch(undefined),
  }),
});

const openai: Api = {
  headers: (key): Record<string, string> => (key === null ? {} : { authorization: `Bearer ${key}` }),
  body: ({ model, system, user }, plain) => ({
    model,
    messages: [
      { role: 'system', content: system },
      { role: 'user', content: user },
    ],
    response_format: plain
      ? { type: 'json_object' }
      : { type: 'json_schema', json_schema: { name: 'verdict', strict: true, schema: jsonSchema } },
  }),
  read(answer) {
    const choice = completion.safeParse(answer).data?.choices[0];
    if (choice === undefined) return { problem: 'its answer is no chat completion' };
    const { message, finish_reason: end } = choice;
    if (message.refusal) return { problem: `it refused: ${message.refusal}` };
    if (end === 'length') return { problem: 'its answer was cut off, for it became too long' };
    if (end === 'content_filter') return { problem: 'its answer was filtered' };
    return parseVerdict(parseJson(message.content ?? ''));
  },
  usage(answer) {
    const { usage } = completionUsage.safeParse(answer).data ?? {};
    if (usage === undefined) return null;
    const cacheRead = whole(usage.prompt_tokens_details?.cached_tokens ?? 0);
    const input = Math.max(0, whole(usage.prompt_tokens) - cacheRead);
    const usd = usage.cost === undefined ? {} : { usd: usage.cost };
    return { input, output: whole(usage.completion_tokens), ...(cacheRead > 0 && { cacheRead }), ...usd };
  },
};

const apiVersion = '2023-06-01';
/** A verdict has a few sentences. */
const answerTokensMax = 4_096;
const toolName = 'verdict';

const message = z.object({
  stop_reason: z.string().nullish(),
  content: z.array(z.object({ type: z.string(), name: z.string().optional(), input: z.unknown().optional() })),
});
const messageUsage = z.object({
  usage: z.object({
    input_tokens: count,
    output_tokens: count,
    cache_read_input_tokens: count,
    cache_creation_input_tokens: count,
  }),
});

const anthropic: Api = {
  headers: (key) => ({ 'anthropic-version': apiVersion, ...(key === null ? {} : { 'x-api-key': key }) }),
  body: ({ model, system, user }) => ({
    ...{ model, max_tokens: answerTokensMax, system, messages: [{ role: 'user', content: user }] },
    tools: [{ name: toolName, description: 'Gives the verdict.', input_schema: jsonSchema }],
    tool_choice: { type: 'tool', name: toolName },
  }),
  read(answer) {
    const { data } = message.safeParse(answer);
    if (data === undefined) return { problem: 'its answer is no message' };
    if (data.stop_reason === 'refusal') return { problem: 'it refused' };
    if (data.stop_reason === 'max_tokens') return { problem: 'its answer was cut off, for it became too long' };
    const [call, second] = data.content.filter(({ type, name }) => type === 'tool_use' && name === toolName);
    if (call === undefined || second !== undefined) return { problem: 'its answer is not one verdict' };
    return parseVerdict(call.input);
  },
  usage(answer) {
    const { usage } = messageUsage.safeParse(answer).data ?? {};
    if (usage === undefined) return null;
    const cacheRead = whole(usage.cache_read_input_tokens);
    const cacheWrite = whole(usage.cache_creation_input_tokens);
    return {
      ...{ input: whole(usage.input_tokens), output: whole(usage.output_tokens) },
      ...{ ...(cacheRead > 0 && { cacheRead }), ...(cacheWrite > 0 && { cacheWrite }) },
    };
  },
};

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const apis: Readonly<Record<JudgeApi, Api>> = { openai, anthropic };
