/** Each example of docs/client.md for machines under plain XState runs and prints what its comments say. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createActor } from 'xstate';
import { taskMachine, workerMachine } from '../../../machines/index.ts';

const page = readFileSync(new URL('../../../docs/client.md', import.meta.url), 'utf8');
const examples = [...page.matchAll(/```ts\n(import \{ (\w+Machine) \}.*?)```/gs)];

test.each(examples.map(([, code = '', name = '']) => ({ code, name })))('$name', ({ code, name }) => {
  const printed: string[] = [];
  const log = (...values: unknown[]) => printed.push(values.join(' '));
  const body = code.replaceAll(/^import .*$/gm, '');
  new Function('workerMachine', 'taskMachine', 'createActor', 'console', body)(
    workerMachine,
    taskMachine,
    createActor,
    {
      log,
    },
  );
  const expected = [...code.matchAll(/console\.log\(.*\/\/ (.*)$/gm)].map(([, line]) => line);
  expect(expected, name).not.toEqual([]);
  expect(printed).toEqual(expected);
});

test('both machines have an example', () => {
  expect(examples.map(([, , name]) => name)).toEqual(['workerMachine', 'taskMachine']);
});
