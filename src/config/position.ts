/** Places in a configuration file. */
import { basename } from 'node:path';

/** Both 1-based; a column counts UTF-16 units. */
export type Position = { readonly line: number; readonly column: number };
export type Path = readonly PropertyKey[];

/**
 * The position of the value at `path`, or of its key. A missing value has the position of its parent's key, the root
 * that of its start, and the inside of an alias that of its anchor.
 */
export type Locate = (path: Path, part?: 'key' | 'value') => Position;

/** `stopgate.yaml:12:3` */
export function describePosition({ line, column }: Position, path: string): string {
  return `${basename(path)}:${line}:${column}`;
}
