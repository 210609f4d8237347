/** The Python client: its page, its own tests, its types and style. Needs Python and its package index. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root } from '../../support/markdown.ts';
import { type Follower, openFollower } from './follow-page.ts';

const client = join(root, 'clients/python');
let reader: Follower;

beforeAll(async () => {
  reader = await openFollower();
});
afterAll(() => reader.close());

test('each program of docs/python.md prints what the page shows, in an empty folder', async () => {
  await reader.follow('docs/python.md', 'test/system/clients/python.test.ts');
});

test('its own tests pass against the real service, and its types and style are valid', async () => {
  const bin = join(reader.folder, '.venv/bin');
  await reader.type(`${bin}/pip install --quiet '/path/to/stopgate/clients/python[dev]'`);
  await reader.type(`cd ${client} && ${bin}/ruff check --no-cache . && ${bin}/ruff format --no-cache --check .`);
  await reader.type(`cd ${client} && ${bin}/python generate_entries.py --check`);
  await reader.type(`cd ${client} && ${bin}/mypy --cache-dir ${reader.folder}/mypy`);
  expect(await reader.type(`cd ${client} && ${bin}/pytest -q -p no:cacheprovider`)).toMatch(/\d+ passed/);
});
