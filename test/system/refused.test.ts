/**
 * Refusals by the machine: a read-only file system, a user who is not root, no network, a deleted folder. Each prints
 * one line with the next step. test/integration/cli/refused.test.ts has the cases that need no other user.
 */
import { spawnSync } from 'node:child_process';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runBash } from '../support/bash.ts';
import { cleanEnv } from '../support/command.ts';
import { type Folder, makeFolder } from '../support/deployment.ts';
import { main } from '../support/shipped.ts';

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const stopgate = `${quote(process.execPath)} ${quote(main)}`;

let folder: Folder;
beforeAll(async () => {
  folder = await makeFolder();
  await chmod(folder.path, 0o755);
  for (const name of ['read-only', 'not mine']) await mkdir(join(folder.path, name));
  await mkdir(join(folder.path, 'mine'));
  await chmod(join(folder.path, 'mine'), 0o777);
  await folder.write('not mine/creds.json', '{}');
  await chmod(join(folder.path, 'not mine/creds.json'), 0o600);
});
afterAll(() => folder.remove());

/** Each runs its arguments. The user has the PATH of a login shell, without /usr/sbin. */
const places = {
  readOnly: `unshare --mount sh -ec 'mount -t tmpfs -o size=1m none read-only; mount -o remount,ro read-only; cd read-only; exec "$@"' sh`,
  offline: 'unshare --net',
  gone: `sh -ec 'mkdir "$0"; cd "$0"; rmdir ../"$0"; exec "$@"' gone-$$`,
  nobody: 'env PATH=/usr/local/bin:/usr/bin:/bin setpriv --reuid=65534 --regid=65534 --clear-groups',
};
const run = (place: keyof typeof places, line: string) => {
  const cwd = place === 'nobody' ? join(folder.path, 'not mine') : folder.path;
  return runBash(`${places[place]} ${stopgate} ${line}`, { cwd, env: cleanEnv(folder.path) });
};
/** Needs root, also in a container, and another user who can read this clone. */
const may = (line: string) => spawnSync('bash', ['-c', line]).status === 0;
const can = {
  readOnly: may(`unshare --mount sh -c 'mount -t tmpfs none /mnt'`),
  offline: may('unshare --net true'),
  gone: true,
  nobody: may(`${places.nobody} ${stopgate} --version`),
};

type Row = readonly [what: string, code: number, says: string | RegExp, line: string];
const rows: Record<keyof typeof places, readonly Row[]> = {
  readOnly: [
    ['dev', 2, 'read-only; choose another location', 'dev --port 0 --http 127.0.0.1:0'],
    ['serve --embedded', 2, 'read-only; choose another location', 'serve --embedded --port 0 --http off'],
    ['init', 2, "settings.json' cannot be written: the file system is read-only", 'init claude --yes'],
    ['support-bundle', 2, 'read-only; choose another location', 'support-bundle --http off --nats nats://127.0.0.1:1'],
    ['a replay needs no place to write', 2, 'there is no such file', 'replay gone.jsonl'],
  ],
  offline: [
    ['a server by its address', 3, 'is the network up?', 'decide w1 --nats nats://192.0.2.1'],
    [
      'a server by its name',
      3,
      /cannot be looked up at the moment|there is no host/,
      'serve --http off --nats nats://nats.invalid',
    ],
    ['a runner', 3, 'is the network up?', 'runner --name box --nats nats://192.0.2.1'],
  ],
  gone: [
    ['dev', 2, 'the current folder no longer exists; change to another one', 'dev --port 0 --http 127.0.0.1:0'],
    ['serve', 2, 'the current folder no longer exists', 'serve --http off --nats nats://127.0.0.1:1'],
    ['a hook, which asks the usual address', 0, 'not judged', 'hook claude --http 127.0.0.1:1 --event Stop <<<"{}"'],
  ],
  nobody: [
    [
      'dev',
      2,
      'permission denied; change the permissions, or choose another location',
      'dev --port 0 --http 127.0.0.1:0',
    ],
    ['init', 2, 'permission denied; change the permissions, or choose another location', 'init claude --yes'],
    [
      'credentials of another user',
      2,
      'name others with --creds',
      'decide w1 --nats nats://127.0.0.1:1 --creds creds.json',
    ],
    ['a configuration of another user', 2, 'permission denied', 'check creds.json'],
  ],
};

const all = (Object.keys(rows) as (keyof typeof places)[]).flatMap((place) =>
  rows[place].map(([what, code, says, line]) => ({ place, what, code, says, line })),
);
describe('prints one line, with the right exit code', () => {
  test.concurrent.for(all)('$place: $what', async ({ place, code, says, line }, { skip, expect }) => {
    skip(!can[place], `this machine does not let us: ${place}`);
    const ended = await run(place, line);
    const lines = ended.printed.split('\n').filter((it) => it.startsWith('stopgate: '));
    expect(lines.join('\n')).toMatch(says);
    expect({ code: ended.code, lines: lines.length }).toEqual({ code, lines: 1 });
    expect(ended.printed).not.toMatch(/^\s+at /m);
  });
});

test.skipIf(!can.nobody)('dev works for a user without /usr/sbin on the PATH', async () => {
  const line = `dev --port 0 --http 127.0.0.1:0 --store ${quote(join(folder.path, 'mine/a store'))} --idle-exit 1s`;
  const { code, printed } = await run('nobody', line);
  expect(printed).toContain('{"ready":true,');
  expect(code).toBe(0);
});
