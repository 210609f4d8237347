/** The scope and expiry of answer links. test/integration/app/answer-links.test.ts covers the whole path. */
import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { readConfigFile } from '../../../src/config/file-reader.ts';
import { createLogger } from '../../../src/log.ts';
import { createAnswerLinks } from '../../../src/notify/answer-links.ts';
import { createNoticeRules } from '../../../src/notify/notice-rules.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';

const input = {
  fleet: 'main',
  worker: 'w1',
  request: 'r/1?&=',
  seq: 7,
  since: '2026-03-02T12:00:00.000Z',
  expiresMs: 1_000,
  kind: 'permission',
  tool: 'Bash',
  message: null,
  detail: null,
};
const never = new AbortController().signal;

async function makeLink(secret = 'a secret') {
  const clock = { ms: 0 };
  const posted: { link: string }[] = [];
  const links = createAnswerLinks({
    url: 'https://stop.example/',
    by: 'on-call',
    secret,
    clock: () => clock.ms,
    logger: createLogger('silent'),
    post: async (notice) => void posted.push(notice as unknown as { link: string }),
  });
  await links.notify(input, never);
  const url = new URL(posted[0]?.link ?? '');
  return { links, clock, url, query: Object.fromEntries(url.searchParams) };
}

test('a link is valid for its request and name until it expires', async () => {
  const { links, clock, url, query } = await makeLink();
  expect(`${url.origin}${url.pathname}`).toBe('https://stop.example/answer');
  clock.ms = 999;
  const { fleet, worker, request, seq, expiresMs } = input;
  expect(links.read(query)).toEqual({ fleet, worker, request, seq, expiresMs, by: 'on-call' });
  clock.ms = 1_000;
  expect(() => links.read(query)).toThrow('this link expired at 1970-01-01T00:00:01.000Z');
});

test('only the signing secret accepts a link, and a webhook signature is not valid for a link', async () => {
  const { links, query } = await makeLink();
  const other = await makeLink('another secret');
  expect(() => other.links.read(query)).toThrow('with another secret');
  const fields = Object.entries(query).filter(([name]) => name !== 'signature');
  const signature = createHmac('sha256', 'a secret').update(JSON.stringify(fields)).digest('base64url');
  expect(() => links.read({ ...query, signature })).toThrow('was altered');
});

const read = (webhook: string) => readConfigFile(`escalation: { webhook: ${webhook} }`, '/x/stopgate.yaml');

test('links need a public address and the secret in the configuration', () => {
  const rules = (webhook: string) => {
    const found = read(webhook);
    if (!found.ok) throw new Error(found.problems[0]?.message);
    return createNoticeRules(found.file.escalation, { HOOK: 's' }, createMetrics(), createLogger('silent'));
  };
  expect(rules('{ url: "http://a", secretEnv: HOOK }').answerLinks).toBeNull();
  expect(rules('{ url: "http://a", secretEnv: HOOK, links: { url: "http://b" } }').answerLinks).not.toBeNull();
  expect(() => rules('{ url: "http://a", links: { url: "http://b" } }')).toThrow('needs "secretEnv"');
  expect(() => rules('{ url: "http://a", secretEnv: HOOK, links: { url: "http://b?c" } }')).toThrow(
    'must not have a query',
  );
});
