/** Reads the text of a stopgate.yaml and returns its values or problems. */
import { readConfigFile } from '../../../src/config/file-reader.ts';

export const path = '/srv/app/stopgate.yaml';

export function read(text: string) {
  const result = readConfigFile(text, path);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result;
}

/** Returns each problem as `line:column message`. */
export function problemsOf(text: string): string[] {
  const result = readConfigFile(text, path);
  return result.ok ? [] : result.problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

export const lines = (...text: string[]) => `${text.join('\n')}\n`;
