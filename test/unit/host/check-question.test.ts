/** A question that is too large for NATS is shortened (docs/protocol.md §8). */
import { expect, test } from 'vitest';
import { toPayload } from '../../../src/host/effects/remote-check.ts';

const question = {
  worker: 'w'.repeat(128),
  attempt: 'a1',
  toolCount: 3,
  agentOutput: `start${'x'.repeat(300_000)}<promise>COMPLETE</promise>`,
  filesModified: Array.from({ length: 20_000 }, (_, index) => `src/deep/${index}.ts`),
  plan: [{ title: 'Write tests'.repeat(1_000), status: 'done' }],
};

test('a question that fits is sent unchanged', () => {
  expect(JSON.parse(toPayload(question, 1_048_576))).toEqual(question);
});

test.each([400_000, 65_536, 4_096])('a question of more than %d bytes is shortened and marked', (bytesMax) => {
  const payload = toPayload(question, bytesMax);
  expect(Buffer.byteLength(payload)).toBeLessThanOrEqual(bytesMax);
  const asked = JSON.parse(payload);
  expect(asked).toMatchObject({ worker: question.worker, attempt: 'a1', toolCount: 3, truncated: true });
  expect(asked.agentOutput).toMatch(/^start.*<promise>COMPLETE<\/promise>$/s);
  expect(asked.filesModified.length).toBeGreaterThan(0);
  expect(asked.filesModified).toEqual(question.filesModified.slice(0, asked.filesModified.length));
});
