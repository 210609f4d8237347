/**
 * Log messages as JSON lines: they are read back byte for byte, and refused like the message itself (protocol.md §10).
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLogLines } from '../../../machines/entries/log-line.ts';
import { parseLogLine, payloadOf } from '../../../machines/index.ts';
import { formatLogLine, toLogLine } from '../../../src/nats/log/log-line.ts';
import { hostilePayload, hostilePayloads } from '../../support/hostile-payloads.ts';
import { takesAll } from '../../support/random.ts';

const subjects = [
  'worker.w1.stop.attempted',
  'worker.w1.heartbeat.sent',
  'worker.w1.plan.updated',
  'worker.w1.no.verb',
];
const messageOf = (data: Uint8Array, subject = `stopgate.main.${subjects[0]}`) => ({ seq: 7, atMs: 0, subject, data });

function storedAgain(line: string): Uint8Array {
  const parsed = parseLogLine(line);
  if (typeof parsed === 'string') throw new Error(parsed);
  return Uint8Array.from(Buffer.from(payloadOf(parsed, line)));
}

function expectToBeRead(data: Uint8Array, subject: string): void {
  const message = messageOf(data, `stopgate.main.${subject}`);
  const line = formatLogLine(message);
  expect(line).not.toContain('\n');
  expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify(toLogLine(message))));
  expect(Buffer.from(storedAgain(line)).equals(data)).toBe(true);
  const live = { ...message, text: new TextDecoder().decode(data), bytes: data.length };
  expect(createLogLines().readLine(line)).toEqual(createLogLines().readMessage(live));
}

describe.each(subjects)('%s', (subject) => {
  test.each(Object.keys(hostilePayloads))('%s', (what) => {
    expectToBeRead(hostilePayloads[what] as Uint8Array, subject);
  });
});

test('any other payload', () => {
  fc.assert(
    fc.property(hostilePayload, fc.constantFrom(...subjects), (data, subject) => expectToBeRead(data, subject)),
    { numRuns: takesAll ? 500 : 150 },
  );
});

test('a payload that survives JSON serialisation is written only once', () => {
  const line = formatLogLine(messageOf(new TextEncoder().encode('{"output":"done"}')));
  expect(line).toBe(
    '{"at":"1970-01-01T00:00:00.000Z","subject":"stopgate.main.worker.w1.stop.attempted","data":{"output":"done"},"seq":7}',
  );
});

test.each([
  ['invalid JSON', '{"tool":', '{"tool":'],
  // Root cause: JSON.stringify overflowed the stack, and a single such entry made the log impossible to export.
  [
    'an object that nests too deeply',
    `{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
    expect.stringMatching(/^\{"a":/),
  ],
])('%s is written as text', (_what, text, data) => {
  expect(JSON.parse(formatLogLine(messageOf(new TextEncoder().encode(text))))).toMatchObject({ data, seq: 7 });
});
