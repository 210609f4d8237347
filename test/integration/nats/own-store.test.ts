/** A store that other users own or can write to is refused. */
import { existsSync, readdirSync } from 'node:fs';
import { chmod, chown, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { requireOwnStore } from '../../../src/nats/embedded/own-store.ts';
import { runCommand } from '../../support/command.ts';
import { makeFolder } from '../../support/deployment.ts';

const stranger = 12_345;
const isRoot = process.geteuid?.() === 0;

async function makeStore() {
  const folder = await makeFolder();
  onTestFinished(() => folder.remove());
  const store = join(folder.path, '.stopgate');
  await mkdir(join(store, 'credentials'), { recursive: true, mode: 0o700 });
  return { store, cwd: folder.path };
}

test('a store that only this user can write to is accepted', async () => {
  const { store } = await makeStore();
  expect(() => requireOwnStore(store)).not.toThrow();
});

test('a store that others can write to is refused before anything is written into it', async () => {
  const { store, cwd } = await makeStore();
  await chmod(store, 0o777);
  const ended = await runCommand(['dev', '--http', 'off', '--port', '0'], { cwd });
  expect(ended.code).toBe(2);
  expect(ended.stderr).toContain(`'${store}' can be written by other users, so it cannot be the store of this service`);
  expect(readdirSync(store)).toEqual(['credentials']);
});

test.runIf(isRoot)(
  'a store of another user is refused, and so is one that contains a file of another user',
  async () => {
    const { store } = await makeStore();
    await writeFile(join(store, 'nats-server.conf'), '');
    await chown(join(store, 'nats-server.conf'), stranger, stranger);
    expect(() => requireOwnStore(store)).toThrow(`nats-server.conf' belongs to another user (${stranger})`);
    await chown(store, stranger, stranger);
    expect(() => requireOwnStore(store)).toThrow(`'${store}' belongs to another user (${stranger})`);
  },
);

test.runIf(isRoot)('the target of a link is checked', async () => {
  const { store, cwd } = await makeStore();
  const elsewhere = join(cwd, 'elsewhere');
  await mkdir(elsewhere, { mode: 0o700 });
  await symlink(elsewhere, join(store, 'jetstream'));
  expect(() => requireOwnStore(store)).not.toThrow();
  await chown(elsewhere, stranger, stranger);
  expect(() => requireOwnStore(store)).toThrow(`jetstream' links to a file of another user (${stranger})`);
  await symlink(elsewhere, join(cwd, 'link'));
  expect(() => requireOwnStore(join(cwd, 'link'))).toThrow(`link' links to a file of another user`);
  expect(existsSync(elsewhere)).toBe(true);
});
