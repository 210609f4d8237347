/**
 * The published npm packages are packed once, installed into an empty folder without a registry, and used there
 * without a nats-server, with another XState, and as a client only.
 */
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, readdir, readFile, stat, symlink } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { cleanEnv } from '../support/command.ts';
import { deploy, type Folder, makeFolder } from '../support/deployment.ts';
import { type LoopbackServer, openLoopbackServer } from '../support/loopback-server.ts';
import { endService, serveBuild } from '../support/service.ts';

const root = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);
const timeout = 600_000; // for a busy machine; an idle one takes fifteen seconds

type Packed = {
  readonly name: string;
  readonly version: string;
  readonly filename: string;
  readonly entryCount: number;
};
/** A folder with the service, and a folder with only the client. */
let home: Folder;
let alone: Folder;
let packages: readonly Packed[];
const installed = (...names: string[]) => join(home.path, 'node_modules', ...names);
const env = () => ({ PATH: [dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter), HOME: home.path });

/** A fake for the program of the package, which records that it ran and then runs the local nats-server. */
async function putServer(): Promise<string> {
  const lines = ['#!/bin/sh', 'touch "$0.ran"', `PATH='${cleanEnv('').PATH}' exec nats-server "$@"`];
  const file = await home.write('nats-server', `${lines.join('\n')}\n`);
  await chmod(file, 0o755);
  return file;
}

const serverPackage = `@stopgate/nats-server-${process.platform}-${process.arch}`;
/** The requests of npm to an empty registry. */
const asked: string[] = [];
let registry: LoopbackServer;
const install = (cwd: string, ...what: readonly string[]) =>
  run('npm', ['install', '--registry', registry.origin, '--no-audit', '--no-fund', ...what], { cwd, env: env() });

beforeAll(async () => {
  home = await makeFolder({ 'package.json': '{ "private": true }' });
  const out = join(home.path, 'packages');
  const server = await putServer();
  const { stdout } = await run(process.execPath, [
    join(root, 'scripts/pack.js'),
    '--out',
    out,
    '--nats-server',
    server,
  ]);
  registry = await openLoopbackServer((request, response) => {
    asked.push(request.url ?? '');
    response.writeHead(404).end('{}');
  });
  packages = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Packed);
  const tarball = (name: string) => join(out, packages.find((each) => each.name === name)?.filename ?? name);
  await install(home.path, tarball('stopgate'), tarball(serverPackage));
  alone = await makeFolder({ 'package.json': '{ "private": true, "type": "module" }' });
  await install(alone.path, tarball('@stopgate/client'));
}, timeout);
afterAll(async () => {
  await registry?.close();
  for (const folder of [home, alone]) await folder?.remove();
});

/** Size in bytes, following links. */
async function weigh(folder: string): Promise<{ bytes: number; files: string[] }> {
  const names = await readdir(folder, { recursive: true });
  const stats = await Promise.all(names.map(async (name) => ({ name, at: await stat(join(folder, name)) })));
  const files = stats.filter(({ at }) => at.isFile());
  return { bytes: files.reduce((sum, { at }) => sum + at.size, 0), files: files.map(({ name }) => name) };
}
const megabyte = 1_000_000;
/** The size of nats-server 2.15.3 for Linux, which a script replaces here. */
const natsServerMegabytes = 24.5;

const compilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: false,
  noEmit: true,
  module: 'nodenext',
  target: 'es2022',
  lib: ['es2022'],
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
};
/** Returns the compiler's findings with the strictest options for public types. */
const findErrors = (cwd: string): Promise<string[]> =>
  run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', cwd]).then(
    () => [],
    ({ stdout }: { stdout: string }) => stdout.split('\n').filter((line) => /^\S/.test(line)),
  );
/** Returns the output that an example promises in comments. */
const linesOf = (example: string) => [...example.matchAll(/console\.log\(.*\/\/ (.*)$/gm)].map(([, line]) => line);

test('the packages are small, also with all dependencies', async () => {
  expect(packages.map(({ name }) => name).sort()).toEqual(['@stopgate/client', serverPackage, 'stopgate']);
  const client = await weigh(join(alone.path, 'node_modules'));
  expect(client.bytes).toBeLessThan(1.5 * megabyte);
  // The client only sends requests and entries. Code that folds the log would add the machines and double its size.
  expect(await readFile(join(alone.path, 'node_modules/@stopgate/client/THIRD-PARTY-LICENSES'), 'utf8')).not.toMatch(
    /^xstate /m,
  );
  expect((await readdir(join(alone.path, 'node_modules'))).sort()).toEqual(['.package-lock.json', '@stopgate']);

  const service = await weigh(installed());
  expect((await readdir(installed())).sort()).toEqual(['.bin', '.package-lock.json', '@stopgate', 'stopgate']);
  expect(service.files.length).toBeLessThan(500); // of which 210 are the documentation and its site
  expect(service.bytes).toBeLessThan((37 - natsServerMegabytes) * megabyte);
  expect(service.files.filter((file) => file.endsWith('.map'))).toEqual([]);
  // The SBOM lists the contents of the program and its pages with versions and hashes, for vulnerability scanners.
  const sbom = JSON.parse(await readFile(installed('stopgate/sbom.cdx.json'), 'utf8'));
  expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'stopgate' } } });
  const components = (sbom.components as { name: string; purl: string; hashes: object[] }[]).map((it) => it.name);
  expect(components).toEqual(expect.arrayContaining(['@nats-io/nats-core', 'fastify', 'preact', 'ws', 'xstate']));
  expect(components).not.toContain('vitest');
  const licences = await readFile(installed('stopgate/THIRD-PARTY-LICENSES'), 'utf8');
  for (const name of ['xstate', 'zod'])
    expect(licences).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(MIT\\)$`, 'm'));
});

test('on an old Node it says which one it needs', async () => {
  const old = 'Object.defineProperty(process.versions,"node",{value:"18.20.8"})';
  const started = run(process.execPath, ['--import', `data:text/javascript,${old}`, installed('.bin/stopgate'), 'dev']);
  await expect(started).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^stopgate: Node 20\.19 or later/),
  });
});

test('an install requests no other package from a registry, where anyone could publish one', async () => {
  expect(asked.filter((path) => path !== '/npm')).toEqual([]); // npm looks for a newer npm
  const manifest = JSON.parse(await readFile(installed('stopgate/package.json'), 'utf8')) as object;
  expect(Object.keys(manifest).filter((key) => /dependencies/i.test(key))).toEqual([]);
});

test(
  'installed from the project as the docs say, it is a development dependency that a colleague gets by npm ci',
  async () => {
    const mine = await makeFolder({ 'package.json': '{ "private": true }', 'vendor/.keep': '' });
    const theirs = await makeFolder({});
    onTestFinished(async () => {
      for (const folder of [mine, theirs]) await folder.remove();
    });
    const name = packages.find((each) => each.name === 'stopgate')?.filename ?? '';
    await cp(join(home.path, 'packages', name), join(mine.path, 'vendor', name));
    await install(mine.path, '-D', `./vendor/${name}`);
    const manifest = JSON.parse(await readFile(join(mine.path, 'package.json'), 'utf8'));
    expect(manifest).toEqual({ private: true, devDependencies: { stopgate: `file:vendor/${name}` } });
    for (const file of ['package.json', 'package-lock.json', 'vendor'])
      await cp(join(mine.path, file), join(theirs.path, file), { recursive: true });
    await mine.remove();
    await run('npm', ['ci', '--registry', registry.origin, '--no-audit', '--no-fund'], {
      cwd: theirs.path,
      env: env(),
    });
    const { stdout } = await run('npx', ['--offline', 'stopgate', 'init', '--policy', 'review'], {
      cwd: theirs.path,
      env: env(),
    });
    expect(stdout).toContain('wrote stopgate.yaml, stopgate.test.yaml, judge-cli.mjs');
    await run('npx', ['--offline', 'stopgate', 'test'], { cwd: theirs.path, env: env() });
    await run('npx', ['--offline', 'stopgate', 'demo', '--help'], { cwd: theirs.path, env: env() });
  },
  timeout,
);

test('on an old Node, the installed command says which one it needs', async () => {
  const old = `data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '18.20.8' })`;
  const running = run(process.execPath, ['--import', old, installed('.bin/stopgate'), 'up'], { env: env() });
  await expect(running).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^stopgate: Node 20\.19 or later is needed/),
  });
});

test('the pages of the documentation come with the service, and link to each other', async () => {
  const folder = installed('stopgate');
  const pages = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.md'));
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/agents.md', 'docs/configuration.md']));
  const dead: string[] = [];
  for (const page of pages) {
    const text = (await readFile(join(folder, page), 'utf8')).replaceAll(/```.*?```|`[^`]*`/gs, '');
    for (const [, target = ''] of text.matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)) {
      if (/(^|\/)(pictures|decisions|examples|test|machines)\/|CONTRIBUTING/.test(target)) continue; // only in the repository
      const file = join(folder, dirname(page), target);
      await stat(file).catch(() => dead.push(`${page}: ${target}`));
    }
  }
  expect(dead).toEqual([]);
});

test('the machines run without XState and zod, and explain refusals', async () => {
  const program = await home.write(
    'machines.mjs',
    `import { attemptSchema, workerMachine } from 'stopgate';
     console.log(workerMachine.id, attemptSchema.safeParse({ attempt: 1 }).error.issues[0].message);`,
  );
  const { stdout } = await run(process.execPath, [program], { cwd: home.path, env: env() });
  expect(stdout).toBe('worker-v1 Invalid input: expected string, received number\n');
});

test(
  "the machines run under the project's own XState, and their types pass with its and zod's",
  async () => {
    const folder = await makeFolder({ 'package.json': '{ "type": "module" }' });
    onTestFinished(() => folder.remove());
    await mkdir(join(folder.path, 'node_modules'));
    for (const name of ['xstate', 'zod'])
      await symlink(join(root, 'node_modules', name), join(folder.path, 'node_modules', name));
    await cp(installed('stopgate'), join(folder.path, 'node_modules/stopgate'), { recursive: true });
    const page = await readFile(join(root, 'docs/client.md'), 'utf8');
    const examples = [...page.matchAll(/```ts\n(import \{ \w+Machine \}.*?)```/gs)].map(([, code = '']) => code);
    expect(examples).toHaveLength(2);
    const wrong = "\n// @ts-expect-error: there is no such entry\nactor.send({ type: 'nonsense' });\n";
    await folder.write('worker.ts', examples[0] + wrong);
    await folder.write('task.ts', examples[1] ?? '');
    await folder.write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['worker.ts', 'task.ts'] }));
    // XState's own types do not pass with both options.
    expect((await findErrors(folder.path)).filter((line) => !line.includes('node_modules/xstate/'))).toEqual([]);
    for (const example of examples) {
      const program = await folder.write('program.js', example);
      const { stdout } = await run(process.execPath, [program], { cwd: folder.path, env: env() });
      expect(stdout.trim().split('\n')).toEqual(linesOf(example));
    }
  },
  timeout,
);

test(
  'npx stopgate dev starts the nats-server of its package, judges, and serves its page',
  async () => {
    const project = join(home.path, 'project');
    await home.write('project/stopgate.yaml', 'policies: { default: { checks: [{ plan: {} }] } }\n');
    const npx = (...args: string[]) => run('npx', ['--offline', 'stopgate', ...args], { cwd: project, env: env() });
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    expect((await npx('--version')).stdout).toBe(`${version}\n`);

    const dev = await serveBuild(installed('stopgate/dist/src/main.js'))(
      ['dev', '--idle-exit', '10m', '--port', '0', '--http', '127.0.0.1:0'],
      project,
      env(),
    );
    onTestFinished(() => endService(dev, 60_000));
    expect(await readdir(installed(serverPackage, 'bin'))).toContain('nats-server.ran');

    await npx('publish', 'worker', 'w1', 'step.updated', '{"step":"1","title":"Write tests"}');
    await expect(npx('decide', 'w1')).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringContaining('Write tests'),
    });
    const hook = installed('stopgate/dist/src/hook-command/main.js');
    const asked = run(process.execPath, [hook, 'claude', '--http', dev.ready.http ?? ''], { cwd: project, env: env() });
    asked.child.stdin?.end(JSON.stringify({ hook_event_name: 'Stop', session_id: 'w1', cwd: project }));
    expect(JSON.parse((await asked).stdout)).toMatchObject({ decision: 'block' });

    const get = async (path: string) =>
      (await fetch(`${dev.ready.http}${path}`, { headers: { accept: 'text/html' } })).text();
    const [script] = /\/assets\/[^"]+\.js/.exec(await get('/')) ?? [];
    for (const path of [script ?? '/no-script', '/machines.json'])
      expect([path, (await get(path)).length]).toEqual([path, expect.toSatisfy((length) => length > 10_000)]);
  },
  timeout,
);

test("npx stopgate init opencode writes the address of the service into OpenCode's plugin", async () => {
  const project = await makeFolder({});
  onTestFinished(() => project.remove());
  const init = (...args: string[]) =>
    run(process.execPath, [installed('stopgate/dist/src/main.js'), 'init', 'opencode', '--yes', ...args], {
      cwd: project.path,
      env: env(),
    });
  const plugin = () => readFile(join(project.path, '.opencode/plugin/stopgate.js'), 'utf8');
  await init('--http', '127.0.0.1:5555', '--token-env', 'OTHER_TOKEN', '--policy', 'strict', '--fleet', 'web');
  const text = await plugin();
  expect(text).toContain('defaultUrl = "http://127.0.0.1:5555"');
  expect(text).toContain('tokenVariable = "OTHER_TOKEN"');
  expect(text).toContain('&policy=strict&fleet=web`');
  await init('--http', '127.0.0.1:5556');
  expect(await plugin()).toContain('defaultUrl = "http://127.0.0.1:5556"');
});

test.each([
  { who: 'client-only developer', name: '@stopgate/client', place: () => alone },
  { who: 'developer with the service', name: 'stopgate/client', place: () => home },
])(
  '$who: the example of docs/client.md runs with $name, and passes the strictest type checks',
  async ({ name, place }) => {
    const page = await readFile(join(root, 'docs/client.md'), 'utf8');
    const policy = /policies: \{ (reviewed: \{.*\}) \}/.exec(page)?.[1];
    const example = (/```ts\n(import \{ connect.*?)```/s.exec(page)?.[1] ?? '').replace(
      "'stopgate/client'",
      `'${name}'`,
    );
    expect(example).toContain(`from '${name}'`);
    const deployment = await deploy({ config: `policies: { ${policy} }\n` });
    onTestFinished(() => deployment.close());
    await place().write('agent/package.json', '{ "type": "module" }');
    await place().write('agent/tsconfig.json', JSON.stringify({ compilerOptions, files: ['agent.ts'] }));
    await place().write('agent/agent.ts', example);
    const program = await place().write('agent/agent.js', example);
    const cwd = dirname(program);
    expect(await findErrors(cwd)).toEqual([]);
    expect(linesOf(example)).toHaveLength(3);
    for (const time of ['first', 'second']) {
      const { stdout } = await run(process.execPath, [program], {
        cwd,
        env: { ...env(), STOPGATE_NATS: deployment.server.url },
      });
      expect([time, ...stdout.trim().split('\n')]).toEqual([time, ...linesOf(example)]);
    }
  },
  timeout,
);
