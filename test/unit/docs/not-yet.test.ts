/** The box at the top of docs/protocol.md and the code agree on what is still to be built. */
import { expect, test } from 'vitest';
import { causes, decisionSchema } from '../../../machines/index.ts';
import { commands } from '../../../src/cli/command-table.ts';
import { entriesSchema } from '../../../src/config/schema.ts';
import { readPage } from '../../support/markdown.ts';
import { notYetInForce } from './not-yet.ts';

const box = readPage('docs/protocol.md')
  .text.split('\n')
  .filter((line) => line.startsWith('> '))
  .join('\n');
const schemas = entriesSchema().$defs as Record<string, { properties?: object }>;

test.each([...notYetInForce.causes, ...notYetInForce.entries])('%s is in the box, and not in the code', (name) => {
  expect(box).toContain(`\`${name}\``);
  expect([...causes]).not.toContain(name);
  expect(Object.keys(schemas).filter((type) => type.endsWith(`.${name}`))).toEqual([]);
});

test.each(notYetInForce.decision)('%s of a decision is in the box, and not in the code', (name) => {
  expect(box).toContain(`\`${name}\``);
  expect(Object.keys(decisionSchema.shape)).not.toContain(name);
});

test.each(notYetInForce.commands)('stopgate %s is in the box, and not in the code', (name) => {
  expect(box).toContain(`\`stopgate ${name}\``);
  expect(Object.keys(commands)).not.toContain(name);
});

test.each(notYetInForce.fields)('%s is in the box, and not in the code', (line) => {
  const [type = '', field = ''] = line.split(' ');
  const name = field.replace('?', '');
  expect(box).toContain(`\`${name}\``);
  const found = Object.entries(schemas).filter(([key]) => key.endsWith(`.${type}`));
  expect(found).not.toEqual([]);
  for (const [, { properties = {} }] of found) expect(Object.keys(properties)).not.toContain(name);
});
