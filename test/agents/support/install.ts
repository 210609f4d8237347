/** Real agents' command lines, each at one version, installed by npm once and kept under node_modules/.cache. */
import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

export type AgentPackage = {
  readonly name: string;
  readonly version: string;
  /** The program's name in node_modules/.bin. */
  readonly bin: string;
  /** What npm would run after the installation: a script of the package; npm itself runs none here. */
  readonly install?: string;
};

export const claudeCode: AgentPackage = {
  name: '@anthropic-ai/claude-code',
  version: '2.1.329',
  bin: 'claude',
  install: 'install.cjs',
};

const run = promisify(execFile);
const cache = new URL('../../../node_modules/.cache/stopgate-agents/', import.meta.url).pathname;

/** The path of the program. The first call downloads it, so it takes a while. @throws Error with npm's words */
export async function installAgent({ name, version, bin, install }: AgentPackage): Promise<string> {
  const folder = join(cache, `${bin}-${version}`);
  const program = join(folder, 'node_modules/.bin', bin);
  if (await isThere(program)) return program;
  await mkdir(cache, { recursive: true });
  // Moved into place when it is whole: a broken download is no installation, and of two at once one is kept.
  const fresh = await mkdtemp(join(cache, `.${bin}-`));
  try {
    await writeFile(join(fresh, 'package.json'), '{"private":true}');
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--engine-strict=false'];
    await run('npm', ['install', ...flags, `${name}@${version}`], { cwd: fresh });
    if (install !== undefined) await run(process.execPath, [join('node_modules', name, install)], { cwd: fresh });
    await rename(fresh, folder).catch(async (cause: unknown) => {
      if (!(await isThere(program))) throw cause;
    });
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  return program;
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
