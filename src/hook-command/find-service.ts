/** Finds the address of a folder's service for a hook whose command line does not name it. */
import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { readPlainFile } from '../plain-file.ts';
import { isTrustedFile } from '../service-file.ts';

/** Both are undefined if no file names a service and none was ever started here. */
export type Found = {
  readonly http?: string | undefined;
  /** The folder whose service is not running. Whatever listens at the default address is somebody else's. */
  readonly stopped?: string | undefined;
};

export function findService(cwd: string): Found {
  const http = configured(cwd) ?? running(cwd);
  return http === undefined ? { stopped: foldersAbove(cwd).find(hasStore) } : { http };
}

/** Reads one line of stopgate.yaml. Parsing the file would take longer than the call. */
function configured(cwd: string): string | undefined {
  const text = read(join(cwd, 'stopgate.yaml'));
  const http = /^http:[ \t]*["']?([^\s"'#]+)/m.exec(text ?? '')?.[1];
  return http === 'off' || http === 'none' ? undefined : http;
}

/** The address of the `stopgate dev` of this folder or one above, unless it belongs to another user. */
function running(cwd: string): string | undefined {
  for (const folder of foldersAbove(cwd)) {
    const http = ownService(join(folder, '.stopgate', 'service.json'), cwd);
    if (http !== undefined) return http;
  }
  return undefined;
}

/** From `cwd` itself up to the home folder or the root. */
function foldersAbove(cwd: string): string[] {
  const home = homedir();
  const folders = [resolve(cwd)];
  for (let folder = resolve(cwd); folder !== home && folder !== dirname(folder); folders.push(folder))
    folder = dirname(folder);
  return folders;
}

const hasStore = (folder: string): boolean =>
  statSync(join(folder, '.stopgate'), { throwIfNoEntry: false })?.isDirectory() ?? false;

function ownService(file: string, cwd: string): string | undefined {
  const text = read(file);
  if (text === undefined) return undefined;
  try {
    if (!isTrustedFile(file, cwd)) return undefined;
    const { http } = JSON.parse(text) as { http?: unknown };
    // dev writes only loopback addresses.
    return typeof http === 'string' && /^http:\/\/(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])(?::\d+)?$/.test(http)
      ? http
      : undefined;
  } catch {
    return undefined; // incomplete: being written
  }
}

function read(file: string): string | undefined {
  try {
    return readPlainFile(file);
  } catch {
    return undefined;
  }
}
