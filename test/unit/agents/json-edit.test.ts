/** Whatever shape a JSON list has, `init --remove` restores it byte for byte after `init`. */
import type { Node } from 'jsonc-parser';
import { expect, test } from 'vitest';
import { append, childOf, parseJson, propertyOf, remove } from '../../../src/agents/setup/json-edit.ts';

const shapes = [
  { shape: 'empty', list: '[]' },
  { shape: 'empty, with blanks', list: '[ ]' },
  { shape: 'empty, over lines', list: '[\n  ]' },
  { shape: 'empty, with a comment', list: '[\n    // none\n  ]' },
  { shape: 'items on one line', list: '["a", "b"]' },
  { shape: 'an item a line', list: '[\n    "a",\n    "b"\n  ]' },
  { shape: 'closed on the line of the last item', list: '[\n    "a",\n    "b"]' },
  { shape: 'a trailing comma, closed on the next line', list: '[\n    "a",\n  ]' },
  { shape: 'a trailing comma, closed on the same line', list: '["a",]' },
  { shape: 'a trailing comma, a blank and the bracket', list: '["a", ]' },
  { shape: 'a comma at the beginning of the line of the bracket', list: '[\n    "a"\n  ,]' },
  { shape: 'a comma on a separate line', list: '[\n    "a"\n    ,\n  ]' },
  { shape: 'objects, closed on the line of the trailing comma', list: '[\n    {\n      "x": 1\n    },]' },
].flatMap(({ shape, list }) => [
  { shape, list },
  { shape: `${shape}, with comments`, list: list.replaceAll('"a"', '"a" /* one */').replaceAll(',', ', /* two */') },
  { shape: `${shape}, with a comment of a line`, list: list.replaceAll('"a"', '"a" // one\n    ') },
]);

const listIn = (text: string) => childOf(propertyOf(parseJson(text), 'list')) as Node;
const removeLast = (text: string) => remove(text, listIn(text).children?.at(-1) as Node) as string;

test.each(shapes)('$shape: $list', ({ list }) => {
  for (const eol of ['\n', '\r\n'])
    for (const around of ['{ "list": LIST }\n', '{\n  "k": 1,\n  "list": LIST,\n  "z": [1,],\n}\n']) {
      const text = around.replace('LIST', list).replaceAll('\n', eol);
      const one = append(text, listIn(text), null, { ours: 1 });
      const two = append(one, listIn(one), null, { ours: 2 });
      expect(listIn(two).children).toHaveLength((listIn(text).children?.length ?? 0) + 2);
      expect(removeLast(one)).toBe(text);
      expect(removeLast(removeLast(two))).toBe(text);
    }
});

test('a bracket never ends up behind a line comment', () => {
  const text = '{ "list": ["a", // one\n    { "ours": 1 },] }';
  expect(listIn(removeLast(text)).children).toHaveLength(1);
});
