/** How a policy writes a judge: whom it means, and what is refused. */
import { expect, test } from 'vitest';
import { policySetSchema } from '../../../../machines/index.ts';

const parse = (judge: object, more: object = {}) =>
  policySetSchema.safeParse({ policies: { default: { checks: [{ judge, ...more }] } } });
const judgeOf = (given: object) =>
  parse({ prompt: 'Is it done?', model: 'm', ...given }).data?.policies.get('default')?.checks[0];

const openai = 'https://api.openai.com/v1/chat/completions';
const anthropic = 'https://api.anthropic.com/v1/messages';

test.each([
  { given: {}, api: 'openai', endpoint: openai, keyEnv: 'OPENAI_API_KEY' },
  { given: { model: 'claude-x' }, api: 'anthropic', endpoint: anthropic, keyEnv: 'ANTHROPIC_API_KEY' },
  { given: { keyEnv: 'ANTHROPIC_API_KEY' }, api: 'anthropic', endpoint: anthropic, keyEnv: 'ANTHROPIC_API_KEY' },
  { given: { model: 'claude-x', keyEnv: 'OPENAI_API_KEY' }, api: 'openai', endpoint: openai, keyEnv: 'OPENAI_API_KEY' },
  { given: { model: 'claude-x', api: 'openai' }, api: 'openai', endpoint: openai, keyEnv: 'OPENAI_API_KEY' },
  // A gateway's name for it.
  { given: { model: 'anthropic/claude-x' }, api: 'openai', endpoint: openai, keyEnv: 'OPENAI_API_KEY' },
])('$given is asked at $endpoint', ({ given, ...found }) => {
  expect(judgeOf(given)).toMatchObject({ kind: 'judge', name: 'judge', since: null, ...found });
});

test.each([
  { endpoint: 'http://127.0.0.1:11434', asks: 'http://127.0.0.1:11434/v1/chat/completions' },
  { endpoint: 'http://127.0.0.1:11434/v1/', asks: 'http://127.0.0.1:11434/v1/chat/completions' },
  { endpoint: 'https://h/api/v4', asks: 'https://h/api/v4/chat/completions' },
  { endpoint: 'https://h/x/chat/completions?api-version=1', asks: 'https://h/x/chat/completions?api-version=1' },
  { endpoint: 'https://h?api-version=1', asks: 'https://h/v1/chat/completions?api-version=1' },
  { endpoint: 'https://h/v1/messages', asks: 'https://h/v1/messages', api: 'anthropic' },
  { endpoint: 'https://api.anthropic.com/v1', asks: anthropic, api: 'anthropic' },
  { endpoint: 'https://h/anthropic', given: { api: 'anthropic' }, asks: 'https://h/anthropic/v1/messages' },
])(
  'the endpoint $endpoint means $asks, and no key is sent there that nobody named',
  ({ endpoint, asks, api, given }) => {
    expect(judgeOf({ endpoint, ...given })).toMatchObject({ endpoint: asks, keyEnv: null, ...(api && { api }) });
  },
);

test.each([
  { what: 'no model', judge: { prompt: 'p' } },
  { what: 'no prompt', judge: { model: 'm' } },
  { what: 'an empty prompt', judge: { prompt: '', model: 'm' } },
  { what: 'a prompt beyond its bound', judge: { prompt: 'p'.repeat(16_001), model: 'm' } },
  { what: 'another API', judge: { prompt: 'p', model: 'm', api: 'grpc' } },
  { what: 'an endpoint without a scheme', judge: { prompt: 'p', model: 'm', endpoint: 'localhost:1' } },
  { what: 'a password in an endpoint', judge: { prompt: 'p', model: 'm', endpoint: 'http://u:p@h/' } },
  { what: 'a key in place of its name', judge: { prompt: 'p', model: 'm', keyEnv: 'sk-1234' } },
  { what: 'an option as a ref', judge: { prompt: 'p', model: 'm', since: '--output=x' } },
])('$what is refused', ({ judge }) => {
  expect(parse(judge).success).toBe(false);
});

test('it is one kind of check, with a name, a time and consequences as any other', () => {
  expect(parse({ prompt: 'p', model: 'm' }, { plan: {} }).success).toBe(false);
  const more = { name: 'second', timeout: '90s', onError: 'block' };
  const [check] = parse({ prompt: 'p', model: 'm' }, more).data?.policies.get('default')?.checks ?? [];
  expect(check).toMatchObject({ name: 'second', timeoutMs: 90_000, onError: 'block' });
});
