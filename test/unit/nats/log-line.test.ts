/** A message of the log as a line for `stopgate replay`. */
import { expect, test } from 'vitest';
import { toLogLine } from '../../../src/nats/log-line.ts';

const lineOf = (text: string) =>
  JSON.stringify(
    toLogLine({ seq: 1, atMs: 0, subject: 'stopgate.main.worker.w.tool.used', data: new TextEncoder().encode(text) }),
  );

test.each([
  ['an object', '{"tool":"Bash"}', { tool: 'Bash' }],
  ['no JSON', '{"tool":', '{"tool":'],
  // JSON.stringify would end the stack: one such entry made a log that could not be exported.
  [
    'an object that nests too deep',
    `{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
    expect.stringMatching(/^\{"a":/),
  ],
])('%s', (_what, text, data) => {
  expect(JSON.parse(lineOf(text))).toEqual({
    at: '1970-01-01T00:00:00.000Z',
    subject: 'stopgate.main.worker.w.tool.used',
    data,
    seq: 1,
  });
});
