/** The bugs that `npm run test:sim:bugs` plants still apply to the current code. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const folder = new URL('../../simulation/bugs/', import.meta.url);
const root = new URL('../../../', import.meta.url);
const names = readdirSync(folder);

test('there are at least 20 bugs', () => expect(names.length).toBeGreaterThanOrEqual(20));

test.each(names)('%s can be planted', (name) => {
  const { file, from, to } = JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Record<string, string>;
  const parts = readFileSync(new URL(file as string, root), 'utf8').split(from as string);
  expect(parts.length - 1, `"from" must occur exactly once in ${file}; quote the code as it is now`).toBe(1);
  expect(to).not.toBe(from);
});
