/** What `up` has changed is given back byte for byte; what somebody has changed since is kept. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openSettings, writeSettings } from '../../../src/agents/setup/settings-file.ts';
import {
  nearestFolder,
  readRecord,
  removeRecord,
  stateFolderOf,
  toChangedFile,
  type UpRecord,
  undoFiles,
  writeRecord,
} from '../../../src/cli/project/changes.ts';
import { runOnce } from '../../support/terminal.ts';

/** A project, the contents of all of its files and folders, and a change like that of `up`. */
function place(files: Readonly<Record<string, string>> = {}) {
  const root = mkdtempSync(join(tmpdir(), 'stopgate-undo-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const cwd = join(root, 'project');
  const put = (name: string, text: string) => {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), text);
  };
  mkdirSync(cwd);
  for (const [name, text] of Object.entries(files)) put(name, text);
  const change = (name: string, after: string, agent: string | null = null) => {
    const file = openSettings(join(cwd, name), cwd);
    const changed = toChangedFile({ file, after }, agent);
    writeSettings(file, after);
    return changed;
  };
  const everything = () =>
    readdirSync(cwd, { recursive: true, withFileTypes: true })
      .map((each) => {
        const path = join(each.parentPath, each.name);
        return each.isFile() ? `${path} ${JSON.stringify(readFileSync(path, 'utf8'))}` : path;
      })
      .sort();
  const env = { HOME: join(root, 'home'), PATH: '' };
  return { root, cwd, put, change, everything, env, places: { cwd, home: env.HOME, env } };
}

test('files that existed, new files, and folders, also empty ones', async () => {
  const { cwd, change, everything, places } = place({ 'a.json': '\uFEFF{ "a": 1 }\r\n', 'full/b': 'b' });
  mkdirSync(join(cwd, 'empty'));
  const before = everything();
  const files = [
    change('a.json', '{}'),
    change('a.json', '{ "twice": 1 }'),
    change('full/new', 'x'),
    change('empty/new', 'x'),
    change('none/deep/new', 'x'),
  ];
  const undone = await undoFiles(files, places);
  expect(everything()).toEqual(before);
  expect(undone.removed).toHaveLength(3);
  expect(undone.restored).toEqual([join(cwd, 'a.json')]);
  expect(undone.kept).toEqual([]);
  // Once more, as after a process that was killed in the middle.
  expect(await undoFiles(files, places)).toEqual({ restored: [], removed: [], kept: [] });
});

test('a file of ours that was changed since is kept, and named', async () => {
  const { cwd, put, change, places } = place();
  const files = [change('stopgate.yaml', 'policies: {}\n')];
  put('stopgate.yaml', 'policies: { mine: {} }\n');
  const { kept } = await undoFiles(files, places);
  expect(kept).toEqual([{ path: join(cwd, 'stopgate.yaml'), why: 'it was changed since' }]);
  expect(readFileSync(join(cwd, 'stopgate.yaml'), 'utf8')).toBe('policies: { mine: {} }\n');
});

test("from settings that were changed since, only stopgate's hooks go", async () => {
  const { cwd, put, change, places } = place();
  await runOnce(['init', 'claude', '--yes'], { cwd, env: places.env });
  const path = join(cwd, '.claude/settings.json');
  const hooked = readFileSync(path, 'utf8');
  rmSync(path);
  const files = [change('.claude/settings.json', hooked, 'claude')];
  put('.claude/settings.json', JSON.stringify({ ...JSON.parse(hooked), model: 'opus' }));
  const { kept } = await undoFiles(files, places);
  expect(kept).toEqual([{ path, why: expect.stringContaining('only the hooks of stopgate were removed') }]);
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ model: 'opus' });
});

const recordOf = (folder: string, stateParent: string): UpRecord => ({
  v: 1,
  folder,
  url: 'http://127.0.0.1:4280',
  service: null,
  madeStore: true,
  stateParent,
  files: [],
});

test("the record is the user's own, and leaves no folder behind", () => {
  const { root, cwd, env } = place();
  const stateParent = nearestFolder(dirname(stateFolderOf(cwd, env)));
  expect(stateParent).toBe(root);
  const record = recordOf(cwd, stateParent);
  writeRecord(record, env);
  expect(readRecord(cwd, env)).toEqual(record);
  expect(readRecord(join(cwd, 'other'), env)).toBeNull();
  expect(stateFolderOf(cwd, env).startsWith(cwd)).toBe(false);
  removeRecord(record, env);
  expect(readdirSync(root)).toEqual(['project']);
});

test('the record of another project stays, with its folder', () => {
  const { root, cwd, env } = place();
  const other = recordOf(join(root, 'other'), root);
  writeRecord(other, env);
  writeRecord(recordOf(cwd, root), env);
  removeRecord(recordOf(cwd, root), env);
  expect(readRecord(other.folder, env)).toEqual(other);
});

test('a record that this version does not understand changes nothing', () => {
  const { cwd, env, root } = place();
  writeRecord(recordOf(cwd, root), env);
  const path = join(stateFolderOf(cwd, env), 'up.json');
  writeFileSync(path, JSON.stringify({ v: 2 }));
  expect(() => readRecord(cwd, env)).toThrow('nothing was changed');
  expect(existsSync(path)).toBe(true);
});
