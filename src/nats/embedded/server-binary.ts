/** Finds the nats-server program, or explains how to get one. */
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
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
const howToGetIt =
  'install 2.9 or later by "apt-get install nats-server", "brew install nats-server" or from https://nats.io/download, ' +
  'or start the service on a server that runs elsewhere: "stopgate serve --nats URL"';

/** Major, minor and patch. */
export type ServerVersion = readonly [number, number, number];
export type ServerBinary = { readonly path: string; readonly version: ServerVersion };

/** @throws AppError server.missing: none is there, or it is older than 2.9, the first with all that we use */
export async function findBinary(named: string | undefined): Promise<ServerBinary> {
  const candidates =
    named === undefined
      ? [...packaged(), 'nats-server', ...folders.map((folder) => join(folder, 'nats-server'))]
      : [named];
  const refused: string[] = [];
  for (const candidate of candidates) {
    try {
      const { stdout } = await promisify(execFile)(candidate, ['--version']);
      const [, major = 0, minor = 0, patch = 0] = (/v?(\d+)\.(\d+)\.(\d+)/.exec(stdout) ?? []).map(Number);
      const version: ServerVersion = [major, minor, patch];
      if (isAtLeast(version, [2, 9, 0])) return { path: candidate, version };
      refused.push(`${candidate} is '${stdout.trim()}'`);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') refused.push((cause as Error).message);
    }
  }
  const why =
    refused.length > 0
      ? refused.join('; ')
      : named === undefined
        ? 'nats-server is not installed'
        : `'${named}' does not exist`;
  throw new AppError('server.missing', `${why}; ${howToGetIt}`);
}

export function isAtLeast(version: ServerVersion, wanted: ServerVersion): boolean {
  const differing = version.findIndex((part, index) => part !== wanted[index]);
  return differing < 0 || (version[differing] ?? 0) > (wanted[differing] ?? 0);
}

/**
 * Up to 2.9.14 one request whose reply subject has a wildcard ends the server: it recurses without end when it looks for
 * who waits for that reply (nats-io/nats-server#3862). No permission keeps clients from sending one.
 */
export const endsByOneMessage = (version: ServerVersion): boolean => !isAtLeast(version, [2, 9, 15]);

function packaged(): string[] {
  try {
    return [createRequire(import.meta.url).resolve(`${packageName}/bin/nats-server`)];
  } catch {
    return []; // it is optional
  }
}
