/** Installs real agents at fixed versions with npm, once: under node_modules/.cache, or in STOPGATE_TEST_AGENTS. */
import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readEnvironment } from '../../../../src/config/environment.ts';

export type Package = {
  readonly name: string;
  readonly version: string;
  /** The package's install script. npm is told not to run scripts, so we run this one. */
  readonly install?: string;
};
export type AgentPackage = Package & {
  /** The program's name in node_modules/.bin. */
  readonly bin: string;
  /** Installed beside it: a newer Node, or a part for this platform that npm takes for optional. */
  readonly with?: readonly Package[];
};

export const claudeCode: AgentPackage = {
  name: '@anthropic-ai/claude-code',
  version: '2.1.332',
  bin: 'claude',
  install: 'install.cjs',
};
export const codexCli: AgentPackage = { name: '@openai/codex', version: '0.171.0', bin: 'codex' };
/** Includes its own Claude Code. */
export const agentSdk: Package = { name: '@anthropic-ai/claude-agent-sdk', version: '0.3.332' };

const run = promisify(execFile);
const cache =
  readEnvironment().STOPGATE_TEST_AGENTS ??
  new URL('../../../../node_modules/.cache/stopgate-agents/', import.meta.url).pathname;

/** The path of the program. The first call downloads it, which takes a while. @throws Error with npm's message */
export async function installAgent(agent: AgentPackage): Promise<string> {
  await installPackage(agent, agent.with);
  return join(folderOf(agent), 'node_modules/.bin', agent.bin);
}

/** The folder of the package. @throws Error with npm's message */
export async function installPackage(wanted: Package, more: readonly Package[] = []): Promise<string> {
  const { name, install } = wanted;
  const folder = folderOf(wanted);
  const installed = join(folder, 'node_modules', name);
  if (await isThere(installed)) return installed;
  await mkdir(cache, { recursive: true });
  // Moved into place when complete, so that a failed download leaves nothing, and one of two parallel downloads is
  // kept.
  const fresh = await mkdtemp(join(cache, '.fresh-'));
  try {
    await writeFile(join(fresh, 'package.json'), '{"private":true}');
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--engine-strict=false'];
    const packages = [wanted, ...more].map((each) => `${each.name}@${each.version}`);
    await run('npm', ['install', ...flags, ...packages], { cwd: fresh });
    if (install !== undefined) await run(process.execPath, [join('node_modules', name, install)], { cwd: fresh });
    await rename(fresh, folder).catch(async (cause: unknown) => {
      if (!(await isThere(installed))) throw cause;
    });
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  return installed;
}

const folderOf = ({ name, version }: Package): string => join(cache, `${name.split('/').at(-1)}-${version}`);

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
