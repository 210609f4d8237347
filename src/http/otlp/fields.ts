/**
 * Reads foreign JSON field by field. Values of an unexpected type are skipped and noted. Numbers may have any form of
 * ProtoJSON: `0.6`, `"0.6"`, `"NaN"`, `"Infinity"`.
 */

/** `kind` is OTLP's name of the field, never a text chosen by the sender. */
export type NoteUnreadField = (kind: string) => void;

export type Fields = Readonly<Record<string, unknown>>;
export type AttributeValue = string | number | boolean;
export type Attributes = ReadonlyMap<string, AttributeValue>;

export type FieldReader = {
  /** Returns the items of a list that are objects. */
  objects(parent: Fields, key: string): readonly Fields[];
  object(parent: Fields, key: string): Fields;
  text(parent: Fields, key: string): string | undefined;
  /** May return a number that is not finite. */
  number(parent: Fields, key: string): number | undefined;
  /** Reads a text or a number, used as a name only. */
  name(parent: Fields, key: string): string | undefined;
  attributes(parent: Fields): Attributes;
};

const noFields: Fields = Object.freeze({});
const isMissing = (value: unknown): value is null | undefined => value === undefined || value === null;
const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function createFieldReader(note: NoteUnreadField): FieldReader {
  const objects: FieldReader['objects'] = (parent, key) => {
    const list = parent[key];
    if (isMissing(list)) return [];
    if (!Array.isArray(list)) {
      note(key);
      return [];
    }
    return list.filter((item) => {
      if (isObject(item)) return true;
      note(key);
      return false;
    });
  };
  const read =
    <Value>(convert: (value: unknown) => Value | undefined) =>
    (parent: Fields, key: string): Value | undefined => {
      const value = parent[key];
      if (isMissing(value)) return undefined;
      const found = convert(value);
      if (found === undefined) note(key);
      return found;
    };
  const text = read((value) => (typeof value === 'string' ? value : undefined));
  const number = read(readNumber);
  const flag = read((value) => (typeof value === 'boolean' ? value : undefined));
  const name = read((value) => (typeof value === 'string' || typeof value === 'number' ? String(value) : undefined));
  const object: FieldReader['object'] = (parent, key) =>
    read((value) => (isObject(value) ? value : undefined))(parent, key) ?? noFields;
  const readValue = (value: Fields): AttributeValue | undefined =>
    text(value, 'stringValue') ??
    // Kept as text, since an integer may exceed the range of a number.
    name(value, 'intValue') ??
    number(value, 'doubleValue') ??
    flag(value, 'boolValue');
  return {
    objects,
    object,
    text,
    number,
    name,
    attributes(parent) {
      const found = new Map<string, AttributeValue>();
      for (const attribute of objects(parent, 'attributes')) {
        const key = text(attribute, 'key');
        const value = key === undefined ? undefined : readValue(object(attribute, 'value'));
        if (key !== undefined && value !== undefined) found.set(key, value);
      }
      return found;
    },
  };
}

/** Returns undefined if the value is not a number in any form. */
function readNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (/^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(text)) return Number(text);
  return /^[-+]?(?:NaN|Infinity)$/.test(text) ? Number(text) : undefined;
}
