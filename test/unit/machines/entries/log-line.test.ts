/** Handwritten lines for replay: the text in the line is the payload (protocol.md §10). */
import { expect, test } from 'vitest';
import { createLogLines } from '../../../../machines/entries/log-line.ts';

const lineOf = (data: string, more = '') =>
  `{"data":{}, "at":"2026-03-02T12:00:00Z","subject":"stopgate.main.worker.w1.stop.attempted", "data" : ${data} ${more}}`;
const read = (data: string, more?: string) => {
  const found = createLogLines().readLine(lineOf(data, more));
  return typeof found === 'string' || found === null ? found : found.stored.entry.data;
};

test.each([
  ['60 KB of numbers that are longer as JSON', `{"output":"x","more":[${'1e20,'.repeat(12_000)}1]}`, { output: 'x' }],
  [
    'names and texts that look like the members of a line',
    '{"output":"\\"data\\": [,","data":{"a":[1]}}',
    { output: '"data": [,' },
  ],
  ['no fields', '{}', {}],
])('%s: accepted', (_what, data, entry) => {
  expect(read(data)).toEqual(entry);
});

test.each([
  ['too large as written', `{"output":"x","more":[${' '.repeat(65_536)}]}`, /the payload has 65\d+ bytes/],
  ['too large in bytes', `{"output":"${'é'.repeat(32_768)}"}`, /the payload has 65549 bytes/],
  ['too deep', `{"more":${'['.repeat(100)}${']'.repeat(100)}}`, /may nest 100 deep/],
  ['a list', '[]', /JSON but not an object/],
  ['null', 'null', /JSON but not an object/],
])('%s: refused', (_what, data, why) => {
  expect(read(data)).toMatch(why);
});

test('other fields of a line do not affect its payload', () => {
  expect(
    read('{"output":"x"}', `,"note":{"deep":${'['.repeat(200)}${']'.repeat(200)},"long":"${' '.repeat(70_000)}"}`),
  ).toEqual({
    output: 'x',
  });
});

test('"base64" is the payload', () => {
  expect(read('{"output":"another"}', ',"base64":"eyJvdXRwdXQiOiJ4In0="')).toEqual({ output: 'x' });
  expect(read('{}', ',"base64":"*"')).toBe('"base64" is not base64');
});
