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

/** `version`: major and minor. */
export type ServerBinary = { readonly path: string; readonly version: readonly [number, number] };

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
      const [, major, minor] = (/v?(\d+)\.(\d+)\./.exec(stdout) ?? []).map(Number);
      const version = [major ?? 0, minor ?? 0] as const;
      if (isAtLeast(version, [2, 9])) return { path: candidate, version };
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

export const isAtLeast = (
  [major, minor]: ServerBinary['version'],
  [wantedMajor, wantedMinor]: ServerBinary['version'],
) => major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);

function packaged(): string[] {
  try {
    return [createRequire(import.meta.url).resolve(`${packageName}/bin/nats-server`)];
  } catch {
    return []; // it is optional
  }
}
