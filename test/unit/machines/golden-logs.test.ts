/**
 * The golden logs: one of each released version of the rules folds to the same decisions and states in every release
 * (protocol.md §15). What differs for a log of a released version is a bug; before its release
 * `npx vitest run test/unit/machines/golden-logs.test.ts -u` rewrites what is expected.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { releasedRules } from '../../../machines/index.ts';
import { foldLines } from '../../support/folded.ts';

const folder = new URL('../../logs/', import.meta.url);
const logs = readdirSync(folder).filter((name) => name.endsWith('.jsonl'));

test('there is one for each version', () => {
  expect(logs).toEqual(releasedRules.map(({ version }) => `rules-${version}.jsonl`));
});

test.each(logs)('%s', async (name) => {
  const lines = readFileSync(new URL(name, folder), 'utf8').trimEnd().split('\n');
  const { badLines, results, views } = foldLines(lines);
  const states = createHash('sha256').update(JSON.stringify(views)).digest('hex');
  const expected = { entries: lines.length, badLines, states, results };
  await expect(`${JSON.stringify(expected, null, 1)}\n`).toMatchFileSnapshot(
    new URL(name.replace('.jsonl', '.expected.json'), folder).pathname,
  );
});
