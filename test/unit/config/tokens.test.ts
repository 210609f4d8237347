/** `tokens` in stopgate.yaml: valid entries, and the sources of the secrets. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { hashOfToken, readTokens } from '../../../src/config/access-tokens.ts';
import { readConfigFile } from '../../../src/config/file-reader.ts';

const folder = mkdtempSync(join(tmpdir(), 'stopgate-tokens-'));
afterAll(() => rmSync(folder, { recursive: true }));

function read(tokens: string) {
  const result = readConfigFile(`tokens: ${tokens}`, join(folder, 'stopgate.yaml'));
  return result.ok ? result.file.tokens : result.problems.map(({ message }) => message);
}
const tokensOf = (text: string, env: Record<string, string> = {}) => readTokens(read(text) as never, env);
const hash = hashOfToken('h');

test('a secret comes from a variable, a file with one per line, or a hash', () => {
  writeFileSync(join(folder, 'two'), 'new\r\n old \n\n');
  const text = `{ a: { role: read, env: A }, b: { role: agent, workers: [w1, "b-*"], fleets: [main], file: two }, c: { role: operator, hash: "${hash}" } }`;
  expect(tokensOf(text, { A: 'x' })).toEqual({
    tokens: [
      { name: 'a', role: 'read', workers: null, fleets: null, hashes: [hashOfToken('x')] },
      {
        name: 'b',
        role: 'agent',
        workers: ['w1', 'b-*'],
        fleets: ['main'],
        hashes: [hashOfToken('new'), hashOfToken('old')],
      },
      { name: 'c', role: 'operator', workers: null, fleets: null, hashes: [hash] },
    ],
    faults: [],
  });
});

test.each([
  ['{ a: { role: read, env: NONE } }', 'variable "NONE" is not set'],
  ['{ a: { role: read, file: none } }', /^cannot read '.*none': there is no such file$/],
  ['{ a: { role: read, file: empty } }', /^'.*empty' is empty$/],
  ['{ a: { role: read, file: bad } }', /^'.*bad': a token must be printable ASCII/],
  ['{ b: { role: read, env: H }, a: { role: agent, env: H } }', /^has the same secret as "b"/],
])('%s: %s', (text, message) => {
  writeFileSync(join(folder, 'empty'), '\n');
  writeFileSync(join(folder, 'bad'), 'two words\n');
  const { tokens, faults } = tokensOf(text, { H: 'h' });
  expect(faults).toEqual([
    { name: 'a', message: typeof message === 'string' ? message : expect.stringMatching(message) },
  ]);
  expect(tokens.map(({ name }) => name)).not.toContain('a');
});

test.each([
  ['{ a: { role: read } }', /a token needs exactly one of env, file and hash/],
  ['{ a: { role: read, env: A, file: b } }', /a token needs exactly one of env, file and hash/],
  ['{ a: { role: boss, env: A } }', /"boss" is not/],
  ['{ a: { role: read, env: A, workers: ["a.b"] } }', /is not the id of a worker, or a pattern/],
  ['{ a: { role: read, env: A, fleets: ["a.b"] } }', /is not the name of a fleet, or a pattern/],
  ['{ a: { role: read, hash: "sha256:12" } }', /is not a hash that "stopgate token" prints/],
  ['{ "a b": { role: read, env: A } }', /a b/],
])('%s is refused', (text, message) => {
  expect(read(text)).toEqual([expect.stringMatching(message)]);
});
