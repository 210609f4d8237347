/** Whose service answers for a folder. */
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { describeStopped, isTrustedFile } from '../../../src/service-file.ts';
import { makeFolder } from '../../support/deployment.ts';

async function putService(owner?: number) {
  const folder = await makeFolder();
  onTestFinished(() => folder.remove());
  mkdirSync(join(folder.path, '.stopgate'));
  const file = join(folder.path, '.stopgate', 'service.json');
  writeFileSync(file, '{}');
  if (owner !== undefined) chownSync(file, owner, owner);
  return { folder: folder.path, file };
}

test('a service of this user is trusted, and said to be stopped', async () => {
  const { folder, file } = await putService();
  expect(isTrustedFile(file, folder)).toBe(true);
  expect(describeStopped(folder, 'X')).toBe(
    `the service of ${folder} is not running; start "stopgate dev" there, or name X`,
  );
});

test.runIf(process.getuid?.() === 0)('a service of another user is not used, and it says so', async () => {
  const { folder, file } = await putService(65_534);
  expect(isTrustedFile(file, folder)).toBe(false);
  expect(describeStopped(folder, 'X')).toContain('belongs to another user (65534), so it is not used; name X');
});
