/** Promises in an agent's output. Those in code, quotations and examples do not count. */
import { expect, test } from 'vitest';
import { readPromises } from '../../../../machines/index.ts';

test.each([
  ['plain', '<promise>COMPLETE</promise>', ['COMPLETE']],
  ['white space', '<promise>\n BLOCKED </promise>', ['BLOCKED']],
  ['other words in the tag', '<promise>not COMPLETE</promise>', []],
  ['an attribute', '<promise x>COMPLETE</promise>', []],
  ['inline code', 'say `<promise>COMPLETE</promise>`', []],
  ['two backticks around one', '`` ` <promise>COMPLETE</promise> ``', []],
  ['a lone backtick is no code', 'a ` and <promise>COMPLETE</promise>', ['COMPLETE']],
  ['a backtick of another paragraph', 'a `\n\n<promise>COMPLETE</promise> `', ['COMPLETE']],
  ['a tilde fence', '~~~\n<promise>COMPLETE</promise>\n~~~', []],
  ['an unclosed fence', '```\n<promise>COMPLETE</promise>', []],
  ['a longer fence is not closed by a shorter one', '````\n```\n<promise>COMPLETE</promise>\n````', []],
  ['after a fence', '```\nx\n```\n<promise>COMPLETE</promise>', ['COMPLETE']],
  ['a quoted line', '   > <promise>COMPLETE</promise>', []],
  ['four spaces are no quote', '    > <promise>COMPLETE</promise>', ['COMPLETE']],
  ['several', '<promise>COMPLETE</promise><promise>ESCALATE</promise>', ['COMPLETE', 'ESCALATE']],
])('%s', (_why, output, names) => {
  expect([...readPromises(output)]).toEqual(names);
});
