/** The test command of a project, from the files that say what kind of project it is. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { findTestCommand } from '../../../src/cli/project/test-command.ts';

const root = mkdtempSync(join(tmpdir(), 'stopgate-test-command-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;

function find(files: Readonly<Record<string, string>>): string | null {
  count += 1;
  const folder = join(root, String(count));
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const found = findTestCommand(folder);
  return found === null ? null : `${found.run.join(' ')} (${found.from})`;
}

const script = (test: unknown) => JSON.stringify({ scripts: { test } });

test.each([
  ['npm', { 'package.json': script('vitest run') }, 'npm test (package.json)'],
  ['pnpm', { 'package.json': script('vitest run'), 'pnpm-lock.yaml': '' }, 'pnpm test (package.json)'],
  ['yarn', { 'package.json': script('jest'), 'yarn.lock': '' }, 'yarn test (package.json)'],
  [
    "Bun, whose `bun test` is not the script's",
    { 'package.json': script('x'), 'bun.lock': '' },
    'bun run test (package.json)',
  ],
  ['a target of make', { Makefile: 'build:\n\tcc x.c\ntest: build\n\t./x\n' }, 'make test (Makefile)'],
  ['pytest', { 'pyproject.toml': '[tool.pytest.ini_options]\n' }, 'pytest (pyproject.toml)'],
  ['pytest under uv', { 'pyproject.toml': 'dev = ["pytest>=8"]\n', 'uv.lock': '' }, 'uv run pytest (pyproject.toml)'],
  ['Go', { 'go.mod': 'module x\n' }, 'go test ./... (go.mod)'],
  ['Rust', { 'Cargo.toml': '[package]\n' }, 'cargo test (Cargo.toml)'],
  [
    "the project's own before a tool's",
    { 'go.mod': 'module x\n', Makefile: 'test:\n\tgo test\n' },
    'make test (Makefile)',
  ],
])('%s', (_what, files, command) => {
  expect(find(files)).toBe(command);
});

test.each([
  ['an empty folder', {}],
  ['what npm init writes', { 'package.json': script('echo "Error: no test specified" && exit 1') }],
  ['a script that is not a text', { 'package.json': script({ run: 'x' }) }],
  ['a package.json that is not JSON', { 'package.json': '{' }],
  ['a package.json that is a list', { 'package.json': '[1]' }],
  ['a variable of make', { Makefile: 'test := 1\ntests:\n\t./x\n' }],
  ['Python without pytest', { 'pyproject.toml': '[project]\n' }],
])('none in %s', (_what, files) => {
  expect(find(files)).toBeNull();
});
