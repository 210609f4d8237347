/** Loads configurations in a temporary home folder. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { loadConfig, type Surroundings } from '../../../src/config/config.ts';
import { AppError } from '../../../src/errors.ts';

/** Gives each test an empty home folder, which is also the current folder. Call it at the top of a test file. */
export function useHome() {
  let home = '';
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'stopgate-config-'));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  const load = (surroundings: Surroundings = {}) =>
    loadConfig({ cwd: home, home, env: {}, random: () => 0x1abff / 2 ** 32, ...surroundings });
  const put = (path: string, text: string): string => {
    const file = join(home, path);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  return {
    inHome: (path: string) => join(home, path),
    load,
    put,
    /** Writes the files that a running service writes. */
    putService: (change: object = {}) => put('.stopgate/service.json', JSON.stringify({ ...service, ...change })),
    /** Returns the lines of the error message. */
    async problemsOf(surroundings: Surroundings): Promise<string[]> {
      try {
        await load(surroundings);
      } catch (error) {
        expect(error).toBeInstanceOf(AppError);
        expect((error as AppError).code).toBe('config.bad');
        return (error as AppError).message.split('\n');
      }
      return [];
    },
  };
}

export const service = { nats: 'nats://127.0.0.1:5001', http: 'http://127.0.0.1:5002', fleet: 'dev', pid: 1 };
