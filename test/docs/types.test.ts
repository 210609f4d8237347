/** Type-checks the TypeScript of the pages against the client in `src`. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { pagePaths, readPage, root } from '../support/markdown.ts';

const examples = pagePaths().flatMap((path) =>
  readPage(path)
    .fences.filter(({ lang, notRun }) => lang === 'ts' && notRun === null)
    .map(({ line, text }) => ({ place: `${path}:${line}`, name: `${path.replaceAll(/\W/g, '-')}-${line}.ts`, text })),
);

const options = {
  extends: '../test/tsconfig.json',
  compilerOptions: {
    composite: false,
    declarationMap: false,
    noEmit: true,
    rootDir: '..',
    paths: {
      stopgate: ['../machines/index.ts'],
      'stopgate/client': ['../src/client/index.ts'],
      '@stopgate/client': ['../src/client/index.ts'],
      'stopgate/claude-agent-sdk': ['../src/agents/claude/agent-sdk.ts'],
    },
  },
  include: ['*.ts'],
  references: [],
};
/** Agents are not dependencies of this package. */
const foreign = `declare module '@anthropic-ai/claude-agent-sdk' {
  export function query(given: { prompt: string; options: { hooks: object; resume?: string } }): AsyncIterable<object>;
}
`;

test('every example compiles', async () => {
  expect(examples.map(({ place }) => place)).not.toEqual([]);
  const folder = await mkdtemp(join(root, '.docs-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(options));
  await writeFile(join(folder, 'foreign.d.ts'), foreign);
  for (const { name, text } of examples) await writeFile(join(folder, name), `${text}\nexport {};\n`);
  const printed = await new Promise<string>((done) =>
    execFile(join(root, 'node_modules/.bin/tsc'), ['-p', folder], (_error, stdout) => done(stdout)),
  );
  expect(printed).toBe('');
});
