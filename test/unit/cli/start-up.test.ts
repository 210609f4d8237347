/** Lists the packages that load before a command can begin. Each one slows down every start. */
import { expect, test } from 'vitest';
import { importsOf } from '../../support/imports.ts';

const packagesOf = (...files: readonly string[]) =>
  importsOf(...files).filter((name) => !name.startsWith('node:') && !name.endsWith('.ts'));

test('version loads no package, and help only the command line parser', () => {
  expect(packagesOf('src/main.ts', 'src/version.ts')).toEqual([]);
  expect(packagesOf('src/app/program.ts')).toEqual(['commander']);
});

test('decide, probe and verify load the parser, the NATS library and no other package', () => {
  const attempt = 'src/cli/commands/decide/stop-attempt.ts';
  const files = ['src/main.ts', 'src/app/program.ts', attempt, 'src/nats/requester.ts'];
  expect(packagesOf(...files).sort()).toEqual(['@nats-io/nats-core', '@nats-io/transport-node', 'commander']);
});

test('only commands that start a service load it', () => {
  expect(packagesOf('src/app/services.ts')).toEqual(['commander']);
  expect(importsOf('src/app/services.ts').filter((name) => name.startsWith('src/app/'))).toEqual([
    'src/app/services.ts',
  ]);
  expect(packagesOf('src/app/serve.ts')).toContain('fastify');
});
