/** Places in a configuration file. */
import { basename } from 'node:path';

/** Both 1-based; a column counts UTF-16 units. */
export type Position = { readonly line: number; readonly column: number };
export type Path = readonly PropertyKey[];

/**
 * Where the value at `path` stands, or its key. What is missing stands at its parent's key, the root at its start; the
 * inside of an alias at its anchor.
 */
export type Locate = (path: Path, part?: 'key' | 'value') => Position;

/** `stopgate.yaml:12:3` */
export function describePosition({ line, column }: Position, path: string): string {
  return `${basename(path)}:${line}:${column}`;
}
