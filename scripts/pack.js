/**
 * `npm run packages`: creates the npm packages in dist/packages from the build in dist, and prints the size of each. If
 * it fails, it keeps the packages of an earlier run, and says so.
 *
 * With `--nats-server FILE` it also creates the nats-server package of this platform, from a local program; with
 * `--nats-releases URL` those of all platforms, from NATS's releases.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { bundleClient } from './pack/bundle.js';
import { licencesOf } from './pack/licences.js';
import { readProgram, stageProgram, stageRelease } from './pack/nats-server.js';
import { sbomOf } from './pack/sbom.js';
import { writeTypes } from './pack/types.js';

const root = resolve(import.meta.dirname, '..');
const dist = join(root, 'dist');
const about = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

const { out, program, releases } = readOptions();
const staging = `${out}.staging-${process.pid}`; // beside `out`, so that one rename replaces it
try {
  if (!existsSync(join(dist, '.built'))) throw new Error('there is no build to pack: run "npm run build"');
  if (existsSync(out) && readdirSync(out).length > 0 && !existsSync(join(out, 'stopgate/package.json')))
    throw new Error(`${out} has other files; use --out with a folder that may be replaced`);
  const server = program === null ? null : readProgram(program); // first, since bundling takes some seconds
  const packages = await makePackages(server);
  rmSync(out, { recursive: true, force: true });
  renameSync(staging, out);
  for (const { name, version, filename, size, unpackedSize, entryCount } of packages)
    process.stdout.write(`${JSON.stringify({ name, version, filename, size, unpackedSize, entryCount })}\n`);
  const installable = packages.filter(
    ({ name }) => name === 'stopgate' || name.endsWith(`-${process.platform}-${process.arch}`),
  );
  const files = installable.map(({ filename }) => join(out, filename)).sort();
  process.stderr.write(
    `To install them, copy them into a project and run there: npm install -D ${files.map((file) => `./${basename(file)}`).join(' ')}\nThey are in ${out}\n`,
  );
} catch (error) {
  const earlier = existsSync(join(out, 'stopgate')) ? `; the packages in ${out} are from an earlier run` : '';
  process.stderr.write(`packages: ${error.message}; nothing was packed${earlier}\n`);
  process.exitCode = 1;
} finally {
  rmSync(staging, { recursive: true, force: true });
}

function readOptions() {
  const options = { out: { type: 'string' }, 'nats-server': { type: 'string' }, 'nats-releases': { type: 'string' } };
  try {
    const { values } = parseArgs({ options });
    return {
      out: resolve(values.out ?? join(dist, 'packages')),
      program: values['nats-server'] === undefined ? null : resolve(values['nats-server']),
      releases: values['nats-releases'] ?? null,
    };
  } catch (error) {
    const usage = 'npm run packages -- [--out FOLDER] [--nats-server FILE] [--nats-releases URL]';
    process.stderr.write(`packages: ${error.message}\nusage: ${usage}\n`);
    process.exit(1);
  }
}

/** @returns npm's report on each package */
async function makePackages(server) {
  await stageClient(join(staging, 'client'));
  await stageProgramPackage(join(staging, 'stopgate'));
  if (server !== null) stageProgram(staging, server, join(root, 'node_modules/@nats-io/nats-core/LICENSE'));
  if (releases !== null) await stageRelease(staging, releases);
  return readdirSync(staging).map((folder) => {
    const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', staging, join(staging, folder)];
    return JSON.parse(execFileSync('npm', args, { stdio: ['ignore', 'pipe', 'ignore'] }).toString())[0];
  });
}

/** The client alone: no dependencies, and types that need none. */
async function stageClient(folder) {
  const bundled = await bundleClient(dist, folder);
  writeTypes([
    { entry: join(dist, 'src/client/index.d.ts'), file: join(folder, 'index.d.ts'), packages: [] },
    {
      entry: join(dist, 'src/agents/claude/agent-sdk.d.ts'),
      file: join(folder, 'claude-agent-sdk.d.ts'),
      packages: [],
    },
  ]);
  const { version, license, author, keywords, type, engines } = about;
  describe(folder, bundled, join(import.meta.dirname, 'pack/client-readme.md'), {
    name: '@stopgate/client',
    version,
    description: 'The TypeScript client of stopgate, which decides over NATS whether a coding agent may stop.',
    keywords,
    license,
    author,
    type,
    engines,
    sideEffects: false,
    exports: {
      '.': { types: './index.d.ts', default: './index.js' },
      './claude-agent-sdk': { types: './claude-agent-sdk.d.ts', default: './claude-agent-sdk.js' },
      './package.json': './package.json',
    },
  });
}

/**
 * The service, the command line, the machines, the documentation, and the client as `stopgate/client`, with its types.
 * Depends on no other package, not even an optional one or a peer: npm would ask a registry for it, where anyone may
 * publish a name that is not taken. The documentation lists optional packages, which are loaded when they are used.
 */
async function stageProgramPackage(folder) {
  // Without the pictures, which would double the size, and the site's Markdown, which is in docs/ and in llms-full.txt.
  const isShipped = (file) => !file.endsWith('.map') && !/dist.docs.(?:pictures|.*\.md$)/.test(file);
  cpSync(join(dist, 'program/dist'), join(folder, 'dist'), { recursive: true, dereference: true, filter: isShipped });
  for (const name of readdirSync(join(folder, 'dist/docs'), { recursive: true, encoding: 'utf8' }))
    if (name.endsWith('.html') || name === 'llms-full.txt') removePictures(join(folder, 'dist/docs', name));
  const types = (name) => join(folder, 'dist', name);
  writeTypes([
    { entry: join(dist, 'machines/index.d.ts'), file: types('machines/index.d.ts'), packages: ['xstate', 'zod'] },
  ]);
  cpSync(join(staging, 'client/index.d.ts'), types('src/client/index.d.ts'));
  cpSync(join(staging, 'client/claude-agent-sdk.d.ts'), types('src/agents/claude/agent-sdk.d.ts'));
  for (const page of ['CHANGELOG.md', 'SECURITY.md']) cpSync(join(root, page), join(folder, page));
  for (const name of ['bin', 'templates']) cpSync(join(root, name), join(folder, name), { recursive: true });
  // The pages are files too, since messages name them. Pictures, decisions and examples would double the size.
  const isPage = (file) => !/^docs.(pictures|decisions|examples)\b/.test(relative(root, file));
  cpSync(join(root, 'docs'), join(folder, 'docs'), { recursive: true, filter: isPage });
  cpSync(join(root, 'bin'), join(folder, 'bin'), { recursive: true });
  const { files, scripts, dependencies, devDependencies, overrides, peerDependencies, peerDependenciesMeta, ...rest } =
    about;
  const bundled = JSON.parse(readFileSync(join(dist, 'bundled.json'), 'utf8')).map((path) => join(root, path));
  describe(folder, bundled, join(root, 'README.md'), rest);
}

function removePictures(file) {
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/<picture>.*?<\/picture>\n?|<img\b[^>]*>/gs, ''));
}

function describe(folder, bundled, readme, manifest) {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), licencesOf(bundled));
  writeFileSync(join(folder, 'sbom.cdx.json'), sbomOf(root, bundled, manifest));
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  cpSync(readme, join(folder, 'README.md'));
}
