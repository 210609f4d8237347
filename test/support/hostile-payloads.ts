/**
 * Untrusted payloads that do not survive JSON parsing and serialising: unusual spellings of numbers and texts, white
 * space, repeated and reordered names, invalid UTF-8 or JSON, values that are not objects, sizes around limits.
 */
import fc from 'fast-check';
import { messageBytesMax } from '../../src/nats/log/stream-info.ts';

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const around = (head: string, middle: Uint8Array, tail: string): Uint8Array =>
  Uint8Array.from([...utf8(head), ...middle, ...utf8(tail)]);
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const padded = (bytes: number): string => `{"output":"${'x'.repeat(bytes - '{"output":""}'.length)}"}`;

/** Each name describes what reserialising JSON, or reading it as text, would change. */
export const hostilePayloads: Readonly<Record<string, Uint8Array>> = {
  nothing: utf8(''),
  'white space': utf8(' \t\r\n{ "output" : "done" } \n'),
  'a byte order mark': around('', Uint8Array.of(0xef, 0xbb, 0xbf), '{"output":"done"}'),
  'numbers that are written longer': utf8(`{"output":"x","more":[${'1e20,'.repeat(12_000)}1]}`),
  'numbers that are not kept': utf8('{"holdMs":0.0,"a":-0,"b":1.00,"c":1e400,"d":12345678901234567890}'),
  'escapes that are not needed': utf8('{"\\u006futput":"\\u0061\\/\\ud83d\\ude00","lone":"\\uD800"}'),
  'a name twice': utf8('{"output":"first","output":"second"}'),
  'a name twice, the first too deep': utf8(`{"more":${nested(200)},"more":1}`),
  'names that are reordered': utf8('{"b":1,"1":2,"__proto__":{"x":1},"0":3}'),
  'an output that is not UTF-8, of 40 KB': around('{"output":"', new Uint8Array(40_000).fill(0xff), '"}'),
  'a character that is cut': around('{"output":"', Uint8Array.of(0xf0, 0x9f, 0x92), '"}'),
  'U+FFFD itself': utf8('{"output":"\ufffd"}'),
  'no JSON': utf8('{"output":'),
  'no JSON, and a line feed': utf8('no\nJSON'),
  'a text': utf8('"{\\"output\\":\\"done\\"}"'),
  'a list': utf8('[{"output":"done"}]'),
  null: utf8('null'),
  '100 levels': utf8(`{"more":${nested(99)}}`),
  '101 levels': utf8(`{"more":${nested(100)}}`),
  '30,000 levels': utf8(`{"more":${nested(30_000)}}`),
  'the largest entry': utf8(padded(65_536)),
  'one byte more': utf8(padded(65_537)),
  'the largest by white space': utf8(`{"output":"x"${' '.repeat(65_536 - 14)}}`),
  'too large by white space': utf8(`{"output":"x"${' '.repeat(65_537 - 14)}}`),
  'the largest that the server takes': utf8(padded(messageBytesMax)),
};

const space = fc.constantFrom('', '', ' ', '\n', '\r\n\t');
const number = fc.constantFrom('1e20', '1E2', '-0', '0.10', '1e-7', '123456789012345678901', '7');
const string = fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text));
const value: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    number,
    string,
    fc.constantFrom('true', 'null', '"\\u0041\\/"', '"\\uDC00"'),
    fc.tuple(space, fc.array(tie('value'), { maxLength: 3 })).map(([gap, items]) => `[${items.join(`,${gap}`)}${gap}]`),
  ),
})).value;
const name = fc.oneof(fc.constantFrom('"output"', '"attempt"', '"data"', '"1"', '"__proto__"', '"a"'), string);
const object = fc
  .tuple(space, fc.array(fc.tuple(name, value), { maxLength: 6 }))
  .map(([gap, members]) => `${gap}{${members.map(([key, given]) => `${key}${gap}:${given}`).join(`${gap},`)}}${gap}`);

/** Generates JSON in many spellings, random bytes, and JSON with random bytes in it. */
export const hostilePayload: fc.Arbitrary<Uint8Array> = fc.oneof(
  { weight: 4, arbitrary: object.map(utf8) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 64 }) },
  {
    weight: 2,
    arbitrary: fc.tuple(object, fc.uint8Array({ maxLength: 8 }), fc.nat()).map(([text, bytes, at]) => {
      const cut = at % (text.length + 1);
      return around(text.slice(0, cut), bytes, text.slice(cut));
    }),
  },
  { weight: 1, arbitrary: fc.constantFrom(...Object.values(hostilePayloads)) },
);
