/** Each question takes one line of input. Lines that were typed ahead are kept for the next questions. */
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { ask } from '../../../src/cli/questions.ts';
import { openTerminal } from '../../support/terminal.ts';

test.each([
  { how: 'at once', chunks: ['one\ntwo\nthree'] },
  { how: 'line by line', chunks: ['one\n', 'two\n', 'three'] },
  { how: 'in pieces', chunks: ['o', 'ne\ntw', 'o\nthr', 'ee'] },
])('lines that were typed ahead $how answer the questions in turn', async ({ chunks }) => {
  const { io } = await openTerminal({ stdin: Readable.from(chunks.map((chunk) => Buffer.from(chunk))) });
  const answers: string[] = [];
  for (const question of ['a', 'b', 'c', 'd']) {
    answers.push(await ask(io, question));
    await new Promise(setImmediate); // as when a command reads a file before it asks again
  }
  expect(answers).toEqual(['one', 'two', 'three', '']);
});
