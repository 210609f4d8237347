/**
 * `judge: { prompt, model, … }`: a second model says whether the work is done (protocol.md §8). A runner asks it; here is
 * how a policy writes it, and whom that means.
 */
import { z } from 'zod';
import { gitRefSchema, type ObjectMaker, textSchema } from '../../values/schemas.ts';
import type { CheckForm, CheckKind, JudgeApi, JudgeFields } from './check.ts';

export const judgeApis = ['openai', 'anthropic'] as const satisfies readonly JudgeApi[];

/** With room for a page of criteria, and for a policy of several judges within one entry. */
const promptLengthMax = 16_000;
const modelLengthMax = 256;
const endpointLengthMax = 1_024;

/** Without a user and a password, which would stand in the log; not by `URL`, for all replicas must read the same. */
const endpointPattern = /^https?:\/\/[^\s/?#@\\]+(?:[/?][^\s#\\]*)?$/i;
export const judgeEndpointSchema = textSchema(endpointLengthMax).regex(
  endpointPattern,
  'is not an http(s) URL without a user, a password and a fragment',
);
export const keyEnvSchema = textSchema(128).regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not the name of a variable');

const createJudgeForm = (object: ObjectMaker) =>
  object({
    prompt: textSchema(promptLengthMax).min(1).describe('what must hold for a pass, in your own words'),
    model: textSchema(modelLengthMax).min(1).describe('the name of the model, as its API takes it'),
    api: z
      .enum(judgeApis)
      .optional()
      .describe(
        'openai: chat completions, which most servers speak; anthropic: messages; default: by endpoint, keyEnv and model',
      ),
    endpoint: judgeEndpointSchema
      .optional()
      .describe('the URL of the API; default: https://api.openai.com/v1 or https://api.anthropic.com'),
    keyEnv: keyEnvSchema
      .optional()
      .describe(
        "the runner's variable that holds the key; default without an endpoint: OPENAI_API_KEY or ANTHROPIC_API_KEY; with one: no key",
      ),
    since: gitRefSchema
      .optional()
      .describe('the commit from which on it sees the changes; default: the merge base with the upstream, else HEAD'),
  });

export const judgeCheck: CheckKind<'judge'> = {
  form: (object) => createJudgeForm(object).optional().describe('a second model says whether the work is done'),
  normalize: (form) => ({ kind: 'judge', ...normalizeJudge(form) }),
  evaluate: (check) => ({ kind: 'pending', check }),
};

function normalizeJudge(form: NonNullable<CheckForm['judge']>): JudgeFields {
  const { prompt, model, endpoint, keyEnv, since = null } = form;
  const api = form.api ?? apiOf(form);
  const own = vendors[api];
  return {
    ...{ prompt, model, api, since },
    endpoint: requestUrl(api, endpoint ?? own.endpoint),
    keyEnv: keyEnv ?? (endpoint === undefined ? own.keyEnv : null),
  };
}

/** The makers of the two APIs serve them here; their keys usually have these names. */
export const vendors = {
  openai: { endpoint: 'https://api.openai.com/v1', keyEnv: 'OPENAI_API_KEY' },
  anthropic: { endpoint: 'https://api.anthropic.com', keyEnv: 'ANTHROPIC_API_KEY' },
} as const satisfies Record<JudgeApi, { endpoint: string; keyEnv: string }>;

/** By what names an API most surely: the end of the endpoint, the variable of the key, then the model. */
function apiOf({ endpoint = '', keyEnv = '', model }: NonNullable<CheckForm['judge']>): JudgeApi {
  const { path } = splitUrl(endpoint);
  if (path.endsWith('/chat/completions')) return 'openai';
  if (path.endsWith('/messages') || /^https?:\/\/api\.anthropic\.com(?:[:/?]|$)/i.test(endpoint)) return 'anthropic';
  if (/anthropic|claude/i.test(keyEnv)) return 'anthropic';
  if (/openai/i.test(keyEnv)) return 'openai';
  // `anthropic/claude-…` is the name of a gateway that speaks chat completions.
  return /^claude/i.test(model) ? 'anthropic' : 'openai';
}

/**
 * Completes an endpoint as the clients of the API do: chat completions are below a base such as `…/v1`, messages below a
 * base without it. An endpoint that names the operation stays as it is.
 */
function requestUrl(api: JudgeApi, endpoint: string): string {
  const { origin, path, query } = splitUrl(endpoint);
  const isWhole = path.endsWith(api === 'openai' ? '/chat/completions' : '/messages');
  if (isWhole) return `${origin}${path}${query}`;
  const base = api === 'openai' ? path || '/v1' : path.replace(/\/v1$/, '');
  return `${origin}${base}${api === 'openai' ? '/chat/completions' : '/v1/messages'}${query}`;
}

function splitUrl(url: string): { readonly origin: string; readonly path: string; readonly query: string } {
  const [, origin = '', path = '', query = ''] = /^(https?:\/\/[^/?]+)([^?]*)(\?.*)?$/i.exec(url) ?? [];
  return { origin, path: path.replace(/\/+$/, ''), query };
}
