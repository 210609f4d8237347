/** Bounds the length of a value's JSON without creating it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonLengthMax } from '../../../../machines/values/text.ts';

const text = fc.string({ unit: fc.constantFrom('a', 'é', '€', '😀', '\ud800', '\u0001', '"', '\\') });

test('the bound is never below the actual JSON size', () => {
  const value = fc.oneof(fc.jsonValue(), fc.dictionary(text, fc.array(fc.oneof(text, fc.double(), fc.constant(null)))));
  fc.assert(
    fc.property(value, (sample) => {
      expect(jsonLengthMax(sample)).toBeGreaterThanOrEqual(Buffer.byteLength(JSON.stringify(sample)));
    }),
  );
});

test('a value with toJSON has no bound', () => {
  expect(jsonLengthMax({ at: new Date(0) })).toBe(Number.POSITIVE_INFINITY);
});
