/** How long a value is as JSON, without making it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonLengthMax } from '../../../../machines/values/text.ts';

const text = fc.string({ unit: fc.constantFrom('a', 'é', '€', '😀', '\ud800', '\u0001', '"', '\\') });

test('a value takes at most so many bytes as JSON', () => {
  const value = fc.oneof(fc.jsonValue(), fc.dictionary(text, fc.array(fc.oneof(text, fc.double(), fc.constant(null)))));
  fc.assert(
    fc.property(value, (it) => {
      expect(jsonLengthMax(it)).toBeGreaterThanOrEqual(Buffer.byteLength(JSON.stringify(it)));
    }),
  );
});

test('what makes its own JSON may be of any length', () => {
  expect(jsonLengthMax({ at: new Date(0) })).toBe(Number.POSITIVE_INFINITY);
});
