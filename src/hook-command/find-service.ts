/** Finds the address of a folder's service in a few files, for a hook whose command line does not name it. */
import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

/** Undefined: no file names it. */
export const findService = (cwd: string): string | undefined => configured(cwd) ?? running(cwd);

/** One line of stopgate.yaml. To parse the whole file would take longer than the call. */
function configured(cwd: string): string | undefined {
  const text = read(join(cwd, 'stopgate.yaml'));
  const http = /^http:[ \t]*["']?([^\s"'#]+)/m.exec(text ?? '')?.[1];
  return http === 'off' || http === 'none' ? undefined : http;
}

/** The address of the `stopgate dev` of this folder or of one above it; never that of another user. */
function running(cwd: string): string | undefined {
  const home = homedir();
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const http = ownService(join(folder, '.stopgate', 'service.json'), cwd);
    if (http !== undefined) return http;
    if (folder === home || folder === dirname(folder)) return undefined;
  }
}

function ownService(file: string, cwd: string): string | undefined {
  const text = read(file);
  if (text === undefined) return undefined;
  try {
    const owners = [process.getuid?.(), statSync(cwd).uid];
    if (process.getuid !== undefined && !owners.includes(statSync(file).uid)) return undefined;
    const { http } = JSON.parse(text) as { http?: unknown };
    // Any other address was not written by dev.
    return typeof http === 'string' && /^http:\/\/(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])(?::\d+)?$/.test(http)
      ? http
      : undefined;
  } catch {
    return undefined; // it is being written
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
