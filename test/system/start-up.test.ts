/**
 * The files that the shipped program loads for a command, as recorded by the process itself. Each file
 * costs time at every start.
 */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { makeFolder } from '../support/deployment.ts';
import { startUnbundled } from '../support/shipped.ts';
import { allowed, useStandIn } from '../support/stand-in.ts';

const standIn = useStandIn();
const root = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Runs a command to its end. `files` are the loaded files, relative to the repository, and `bytes` their total size.
 */
async function loadedBy(...args: readonly string[]) {
  const [folder, coverage] = [await makeFolder(), await makeFolder()];
  try {
    // Node's own record of each script that ran, ES modules and CommonJS alike.
    const ended = await runCommand(
      args,
      { cwd: folder.path, env: { NODE_V8_COVERAGE: coverage.path } },
      startUnbundled,
    );
    const [report = ''] = await readdir(coverage.path);
    const { result } = JSON.parse(await readFile(join(coverage.path, report), 'utf8')) as { result: { url: string }[] };
    const paths = result.flatMap(({ url }) => (url.startsWith('file:') ? [fileURLToPath(url)] : []));
    const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    return { ...ended, files: paths.map((path) => path.replace(root, '')).sort(), bytes };
  } finally {
    await Promise.all([folder.remove(), coverage.remove()]);
  }
}

/** Returns the package folders of these files. */
const packagesIn = (files: readonly string[]) =>
  new Set(files.flatMap((file) => /(?<=node_modules\/)(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));

test('a decision loads the parser, the NATS library, and only our code for requests and output', async () => {
  const fleet = standIn.newFleet();
  await standIn.answer(fleet, 'decide.*', () => allowed);
  const { code, stdout, files, bytes } = await loadedBy('decide', 'w1', '--nats', standIn.url(), '--fleet', fleet);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^allow · /) });
  expect([...packagesIn(files)].filter((name) => !/^@nats-io\/|^tweetnacl$/.test(name))).toEqual(['commander']);
  expect(
    files.filter((file) => /^dist\/machines\/(?:index|(?:fleet|worker|task|guards|entries\/index))\b/.test(file)),
  ).toEqual([]);
  const ours = files.filter((file) => file.startsWith('dist/'));
  expect(ours).toContain('dist/src/cli/commands/decide/stop-attempt.js');
  // A few more than today, and far fewer than with any schema or the list of agents.
  expect(ours.length).toBeLessThanOrEqual(66);
  expect(bytes).toBeLessThanOrEqual(720_000); // of which commander has 126,000
});

test('version loads no package, and help only the parser', async () => {
  const help = await loadedBy('--help');
  expect({ code: help.code, packages: packagesIn(help.files) }).toEqual({ code: 0, packages: new Set(['commander']) });
  expect(help.files.filter((file) => file.startsWith('dist/')).length).toBeLessThanOrEqual(24);
  const version = await loadedBy('--version');
  expect(version.files).toEqual(['dist/src/main.js', 'dist/src/version.js']);
});

test('a hook call loads its own small program and the part of its agent', async () => {
  const { files } = await loadedBy('hook', 'claude');
  expect(files).toContain('dist/src/hook-command/run.js');
  expect(
    files.filter(
      (file) =>
        !/^dist\/src\/(?:main|plain-file|service-file|text\/body-text|hook-command\/[\w-]+|agents\/claude\/hook-command)\.js$/.test(
          file,
        ),
    ),
  ).toEqual([]);
});
