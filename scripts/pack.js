/**
 * `npm run pack`: makes the npm packages in dist/packages from the build in dist, and prints what each weighs.
 *
 * With `--nats-server FILE` also that of the nats-server for this platform, from a program that is here; with
 * `--nats-releases [URL]` those of all platforms, from NATS's releases.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { bundleClient, bundleProgram } from './pack/bundle.js';
import { licencesOf } from './pack/licences.js';
import { natsVersion, packageNames, stageProgram, stageRelease } from './pack/nats-server.js';
import { rollMachineTypes, rollPlainTypes } from './pack/types.js';

const root = resolve(import.meta.dirname, '..');
const dist = join(root, 'dist');
const about = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/**
 * The types of the machines show theirs; the code has its own copy, so nobody needs them to run it. npm refuses an install
 * beside a version that is out of range, so these take what a project may have for itself. What the types need is in
 * docs/client.md, "Install".
 *
 * The peer dependencies of package.json are run, so their ranges end where the interface does. Version 3 of OpenTelemetry's
 * SDK, to which the exporters from 0.300 on belong, has no `sdk-trace-node`.
 */
const shownTypes = { xstate: '>=4', zod: '>=3' };
const optionalAll = (packages) => Object.fromEntries(Object.keys(packages).map((name) => [name, { optional: true }]));

const { values } = parseArgs({
  options: { out: { type: 'string' }, 'nats-server': { type: 'string' }, 'nats-releases': { type: 'string' } },
});
const out = resolve(values.out ?? join(dist, 'packages'));
if (!existsSync(join(dist, '.built'))) throw new Error('there is no build to pack: run "npm run build"');
rmSync(out, { recursive: true, force: true });

await stageClient(join(out, 'client'));
await stageProgramPackage(join(out, 'stopgate'));
if (values['nats-server'] !== undefined)
  stageProgram(out, resolve(values['nats-server']), join(root, 'node_modules/@nats-io/nats-core/LICENSE'));
if (values['nats-releases'] !== undefined) await stageRelease(out, values['nats-releases']);
for (const folder of readdirSync(out)) {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', out, join(out, folder)];
  const [packed] = JSON.parse(execFileSync('npm', args, { stdio: ['ignore', 'pipe', 'ignore'] }).toString());
  const { name, version, filename, size, unpackedSize, entryCount } = packed;
  process.stdout.write(`${JSON.stringify({ name, version, filename, size, unpackedSize, entryCount })}\n`);
}

/** The client alone: no dependencies, and types that need none. */
async function stageClient(folder) {
  const bundled = await bundleClient(dist, folder);
  await rollPlainTypes(join(dist, 'src/client/index.d.ts'), join(folder, 'index.d.ts'));
  await rollPlainTypes(join(dist, 'src/agents/claude/agent-sdk.d.ts'), join(folder, 'claude-agent-sdk.d.ts'));
  const { version, license, author, keywords, type, engines } = about;
  describe(folder, bundled, join(import.meta.dirname, 'pack/client-readme.md'), {
    name: '@stopgate/client',
    version,
    description: 'The TypeScript client of stopgate, which decides over NATS whether a coding agent may stop.',
    ...{ keywords, license, author, type, engines, sideEffects: false },
    exports: {
      '.': { types: './index.d.ts', default: './index.js' },
      './claude-agent-sdk': { types: './claude-agent-sdk.d.ts', default: './claude-agent-sdk.js' },
      './package.json': './package.json',
    },
  });
}

/** The service, the command line, the machines, and the client as `stopgate/client`, with the types of its own package. */
async function stageProgramPackage(folder) {
  const bundled = await bundleProgram(dist, join(folder, 'dist'));
  for (const part of ['inspector', 'inspect', 'incident', 'schema', 'machines.json', 'src/hook-command/post.pl'])
    cpSync(join(dist, part), join(folder, 'dist', part), { recursive: true, filter: (file) => !file.endsWith('.map') });
  const types = (name) => join(folder, 'dist', name);
  await rollMachineTypes(join(dist, 'machines/index.d.ts'), types('machines/index.d.ts'));
  cpSync(join(out, 'client/index.d.ts'), types('src/client/index.d.ts'));
  cpSync(join(out, 'client/claude-agent-sdk.d.ts'), types('src/agents/claude/agent-sdk.d.ts'));
  const { files, scripts, dependencies, devDependencies, overrides, peerDependencies, ...rest } = about;
  describe(folder, bundled, join(root, 'README.md'), {
    ...rest,
    bin: { stopgate: 'dist/src/main.js' },
    peerDependencies: { ...peerDependencies, ...shownTypes },
    peerDependenciesMeta: optionalAll({ ...peerDependencies, ...shownTypes }),
    optionalDependencies: Object.fromEntries(packageNames.map((name) => [name, natsVersion])),
  });
}

function describe(folder, bundled, readme, manifest) {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), licencesOf(bundled));
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  cpSync(readme, join(folder, 'README.md'));
}
