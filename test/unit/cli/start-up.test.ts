/** What is loaded before a command can begin: a package that slips into it is paid for at every start. */
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const repository = fileURLToPath(new URL('../../..', import.meta.url));
const importPattern = /^(?:import|export)(?!\s+type\b)(?:[^;'"]*?\bfrom)?\s*'([^']+)';/gm;

/** All that these files import at once, as `src/cli/cli.ts` or the name of a package; `import()` waits until it is reached. */
function importsOf(...files: readonly string[]): string[] {
  const found = new Set<string>();
  const visit = (file: string) => {
    if (found.has(file)) return;
    found.add(file);
    for (const [, name = ''] of readFileSync(join(repository, file), 'utf8').matchAll(importPattern)) {
      if (name.startsWith('.')) visit(relative(repository, join(repository, dirname(file), name)));
      else found.add(name);
    }
  };
  for (const file of files) visit(file);
  return [...found];
}

const packagesOf = (...files: readonly string[]) =>
  importsOf(...files).filter((name) => !name.startsWith('node:') && !name.endsWith('.ts'));

test('version loads no package, and help the parser of the command line alone', () => {
  expect(packagesOf('src/main.ts', 'src/version.ts')).toEqual([]);
  expect(packagesOf('src/app/program.ts')).toEqual(['commander']);
});

test('decide, probe and verify load the parser, the NATS library and no other package', () => {
  const attempt = 'src/cli/commands/decide/stop-attempt.ts';
  const files = ['src/main.ts', 'src/app/program.ts', attempt, 'src/nats/requester.ts'];
  expect(packagesOf(...files).sort()).toEqual(['@nats-io/nats-core', '@nats-io/transport-node', 'commander']);
});

test('a service is loaded by the commands that start one', () => {
  expect(packagesOf('src/app/services.ts')).toEqual(['commander']);
  expect(importsOf('src/app/services.ts').filter((name) => name.startsWith('src/app/'))).toEqual([
    'src/app/services.ts',
  ]);
  expect(packagesOf('src/app/serve.ts')).toContain('fastify');
});
