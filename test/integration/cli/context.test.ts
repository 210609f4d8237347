/** context: the commands that keep named contexts, and a command that uses one. */
import { mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { useStandIn } from '../../support/stand-in.ts';
import { runOnce } from '../../support/terminal.ts';

const standIn = useStandIn();
let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'stopgate-context-')));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const run = (...argv: string[]) => runOnce(argv, { cwd: folder, env: { XDG_CONFIG_HOME: folder } });
const file = () => join(folder, 'stopgate/contexts.json');

test('adds, lists, selects, shows and removes', async () => {
  writeFileSync(join(folder, 'prod.creds'), '');
  expect((await run('context')).stdout).toContain('npx stopgate context add NAME --nats URL');
  await run('context', 'add', 'prod', '--nats', 'tls://prod.example', '--creds', 'prod.creds', '--fleet', 'web');
  await run('context', 'add', 'lab', '--nats', 'lab.example');
  await run('context', 'use', 'prod');
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  const prod = { nats: 'tls://prod.example', creds: join(folder, 'prod.creds'), fleet: 'web' };
  expect(JSON.parse((await run('context', 'list', '--json')).stdout)).toEqual([
    { name: 'prod', selected: true, ...prod },
    { name: 'lab', selected: false, nats: 'lab.example' },
  ]);
  expect((await run('context', 'list')).stdout).toMatch(/^\*\s+prod\s+tls:\/\/prod\.example\s+web/m);
  expect(JSON.parse((await run('context', 'show', '--json')).stdout)).toEqual({
    name: 'prod',
    selected: true,
    ...prod,
  });
  expect((await run('completion', '--list', 'contexts')).stdout).toBe('prod\nlab\n');
  await run('context', 'remove', 'prod');
  expect(JSON.parse(readFileSync(file(), 'utf8'))).toEqual({
    selected: null,
    contexts: { lab: { nats: 'lab.example' } },
  });
});

test('a command uses the selected context, and --context another', async () => {
  const fleet = standIn.newFleet();
  await standIn.makeLog(fleet);
  await run('context', 'add', 'here', '--nats', standIn.url(), '--fleet', fleet);
  await run('context', 'add', 'away', '--nats', '127.0.0.1:1');
  await run('context', 'use', 'here');
  expect(await run('spend', '--json')).toMatchObject({ code: 0, stdout: '[]\n' });
  expect(await run('spend', '--json', '--context', 'away')).toMatchObject({ code: 3 });
});

test.each([
  [['add', 'a', '--nats', 'nats://me:secret@h'], 'a context keeps no password'],
  [['add', 'a'], '--nats is missing'],
  [['add', 'a', '--nats', 'a b'], 'is not a NATS URL'],
  [['add', 'a', '--nats', 'h', '--fleet', 'a.b'], '"a.b"'],
  [['add', '../a', '--nats', 'h'], 'is not the name of a context'],
  [['use', 'nosuch'], 'there is no context "nosuch"'],
  [['remove', 'nosuch'], 'there is no context "nosuch"'],
  [['show'], 'no context is selected'],
  [['mend'], `'mend' is not an action; use list, show, use, add, remove`],
])('%j is refused', async (argv, message) => {
  const { code, stderr } = await run('context', ...argv);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  expect(() => statSync(file())).toThrow('ENOENT');
});

test('an existing context is not replaced', async () => {
  await run('context', 'add', 'a', '--nats', 'h');
  const { code, stderr } = await run('context', 'add', 'a', '--nats', 'other');
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining('context "a" already exists; first run "npx stopgate context remove a"'),
  ]);
});
