/** A map of a snapshot decodes its values lazily while values come and go. */
import { expect, test } from 'vitest';
import { SnapshotMap } from '../../../../machines/fleet/snapshot-map.ts';

type Value = { readonly name: string };

function mapOf() {
  const map = new SnapshotMap<Value>((value) => ({ ...value }));
  const decoded: string[] = [];
  const put = (name: string) =>
    map.setEncoded(name, () => {
      decoded.push(name);
      return { name };
    });
  return { map, decoded, put };
}

test('decodes each value once, and leaves the others encoded', () => {
  const { map, decoded, put } = mapOf();
  put('a');
  map.set('b', { name: 'b' });
  map.delete('b');
  expect([...map.decodeAll()]).toHaveLength(1);
  expect(map.get('a')).toEqual({ name: 'a' });
  expect(decoded).toEqual(['a']);
});

test('never decodes deleted values', () => {
  const { map, decoded, put } = mapOf();
  for (const name of ['a', 'b']) put(name);
  map.delete('a');
  expect(map.get('b')).toEqual({ name: 'b' });
  expect([...map.decodeAll()]).toEqual([]);
  expect(decoded).toEqual(['b']);
});
