/** Finds the `.stopgate` folder of a project if it can be trusted. */
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findStore } from '../../../src/config/store.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'stopgate-store-'));
  mkdirSync(join(home, 'a/b'), { recursive: true });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const service = { nats: 'nats://127.0.0.1:5001', http: null, fleet: 'main', pid: 1 };

function putStore(within: string, text?: string): string {
  const folder = join(home, within, '.stopgate');
  mkdirSync(folder, { recursive: true });
  if (text !== undefined) writeFileSync(join(folder, 'service.json'), text);
  return folder;
}

test('without a store, the result is null', () => {
  expect(findStore(home, home)).toBeNull();
});

test('the nearest store with a service is found from a subfolder', () => {
  const outer = putStore('', JSON.stringify(service));
  expect(findStore(join(home, 'a/b'), home)).toEqual({ folder: outer, service });
  const inner = putStore('a', JSON.stringify({ ...service, fleet: 'inner' }));
  expect(findStore(join(home, 'a/b'), home)?.folder).toBe(inner);
});

test('a store without a running service does not hide a running one above', () => {
  const outer = putStore('', JSON.stringify(service));
  putStore('a');
  expect(findStore(join(home, 'a/b'), home)?.folder).toBe(outer);
});

test('without a running service, the nearest store is found', () => {
  putStore('');
  const inner = putStore('a');
  expect(findStore(join(home, 'a/b'), home)).toEqual({ folder: inner, service: null });
});

test('the search ends at home', () => {
  putStore('', JSON.stringify(service));
  expect(findStore(join(home, 'a/b'), join(home, 'a'))).toBeNull();
});

test.each([
  '',
  '{"nats":',
  '{}',
  '[]',
  JSON.stringify({ ...service, nats: 'http://h' }),
  JSON.stringify({ ...service, http: 'x' }),
])('a service.json that contains %j is ignored', (text) => {
  putStore('', text);
  expect(findStore(home, home)?.service).toBeNull();
});

test('a file named .stopgate is not a store', () => {
  writeFileSync(join(home, '.stopgate'), '');
  expect(findStore(home, home)).toBeNull();
});

// Only root can change the owner of a file.
test.skipIf(process.getuid?.() !== 0)(
  "a parent folder's service.json counts only if the owner of that folder wrote it",
  () => {
    const folder = putStore('', JSON.stringify(service));
    chownSync(join(folder, 'service.json'), 4_242, 4_242);
    expect(findStore(join(home, 'a'), home)?.service).toBeNull();
    chownSync(join(home, 'a'), 4_242, 4_242);
    expect(findStore(join(home, 'a'), home)?.service).toEqual(service);
  },
);
