/** Finding the `.stopgate` folder of a project, and only one that may be trusted. */
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

test('no store is null', () => {
  expect(findStore(home, home)).toBeNull();
});

test('the nearest store with a service is found, from below', () => {
  const outer = putStore('', JSON.stringify(service));
  expect(findStore(join(home, 'a/b'), home)).toEqual({ folder: outer, service });
  const inner = putStore('a', JSON.stringify({ ...service, fleet: 'inner' }));
  expect(findStore(join(home, 'a/b'), home)?.folder).toBe(inner);
});

test('a store whose service has gone does not hide a running one above', () => {
  const outer = putStore('', JSON.stringify(service));
  putStore('a');
  expect(findStore(join(home, 'a/b'), home)?.folder).toBe(outer);
});

test('without any service the nearest store is found', () => {
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
])('a service.json that says %j says nothing', (text) => {
  putStore('', text);
  expect(findStore(home, home)?.service).toBeNull();
});

test('a file that bears its name is no store', () => {
  writeFileSync(join(home, '.stopgate'), '');
  expect(findStore(home, home)).toBeNull();
});

// Only root can give a file away.
test.skipIf(process.getuid?.() !== 0)(
  "a stranger's service.json above our folder is ignored, that of the folder's owner is not",
  () => {
    const folder = putStore('', JSON.stringify(service));
    chownSync(join(folder, 'service.json'), 4_242, 4_242);
    expect(findStore(join(home, 'a'), home)?.service).toBeNull();
    chownSync(join(home, 'a'), 4_242, 4_242);
    expect(findStore(join(home, 'a'), home)?.service).toEqual(service);
  },
);
