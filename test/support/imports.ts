/** What a program loads when it starts, by following its imports. */
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const importPattern = /^(?:import|export)(?!\s+type\b)(?:[^;'"]*?\bfrom)?\s*'([^']+)';/gm;

/**
 * Returns all files and packages that `files` load at once, as `src/cli/cli.ts` or a package's name. Skips `import()`.
 */
export function importsOf(...files: readonly string[]): string[] {
  const found = new Set<string>();
  const visit = (file: string) => {
    if (found.has(file)) return;
    found.add(file);
    if (!/\.tsx?$/.test(file)) return;
    for (const [, name = ''] of readFileSync(join(repository, file), 'utf8').matchAll(importPattern)) {
      if (name.startsWith('.')) visit(relative(repository, join(repository, dirname(file), name)));
      else found.add(name);
    }
  };
  for (const file of files) visit(file);
  return [...found];
}
