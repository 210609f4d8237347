/**
 * The form of a line is its text without names and long numbers. Thousands of actors have equal forms, and parsing
 * 100,000 lines at a start would take seconds, so only one line of each form is checked. That suffices for values whose
 * schema requires only a type, a range or a fixed word. `contentFields` lists the fields that require more.
 */

/** A line of a snapshot. It is read at the start, and maybe again when its actor is needed. */
export type SnapshotLine = {
  /** The line is `bytes` from `from` up to `end`, without the line feed. */
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly end: number;
  readonly text: (from: number, end: number) => string;
};

/** Schemas of these fields inspect texts or the length of a list. */
const contentFields = ['attempt', 'checkpoints', 'evaluations', 'hooks', 'lastJudgedTasks', 'lastDecision'];
const contentPattern = new RegExp(`"(?:${contentFields.join('|')})":[[{]`);
/** Longer lines hardly ever share a form. */
const lineLengthMax = 4_096;
/** Fixed words are shorter: states, causes, names of guards. */
const wordLengthMax = 24;

/** Beyond this many forms, every line is checked. Each form takes about 400 bytes. */
const formsMax = 10_000;

type KnownForms = {
  /** Tells whether the form of the line from `from` on is known. If not, `addLast` can add it. */
  has(line: SnapshotLine, from: number): boolean;
  /** Adds the form from the last call of `has`, if checking one line of the form suffices. */
  addLast(): void;
};

/** Compares forms as bytes, because converting each to a string would take as long as parsing the line. */
export function createKnownForms(): KnownForms {
  const forms = new Map<number, Uint8Array[]>();
  const form = new Uint8Array(lineLengthMax);
  let count = 0;
  let length = 0;
  const isLast = (other: Uint8Array): boolean => {
    if (other.length !== length) return false;
    for (let index = 0; index < length; index += 1) if (other[index] !== form[index]) return false;
    return true;
  };
  return {
    has(line, from) {
      length = readForm(line, from, form);
      return length > 0 && (forms.get(hashOf(form, length))?.some(isLast) ?? false);
    },
    addLast() {
      if (length === 0 || count >= formsMax) return;
      const copy = form.slice(0, length);
      if (contentPattern.test(String.fromCharCode(...copy))) return;
      const hash = hashOf(form, length);
      forms.set(hash, [...(forms.get(hash) ?? []), copy]);
      count += 1;
    },
  };
}

function hashOf(bytes: Uint8Array, length: number): number {
  let hash = length;
  for (let index = 0; index < length; index += 1) hash = (Math.imul(hash, 31) + (bytes[index] as number)) | 0;
  return hash;
}

/** Writes the form into `form`. @returns its length, or 0 if this line must be checked individually */
function readForm({ bytes, end }: SnapshotLine, from: number, form: Uint8Array): number {
  if (end - from > lineLengthMax) return 0;
  let length = 0;
  for (let index = from; index < end; index += 1) {
    const byte = bytes[index] as number;
    form[length++] = byte;
    if (byte === quote) {
      const after = endOfText(bytes, index + 1, end);
      if (after < 0) return 0;
      if (bytes[after + 1] === colon || isWord(bytes, index + 1, after))
        for (let inner = index + 1; inner < after; inner += 1) form[length++] = bytes[inner] as number;
      form[length++] = quote;
      index = after;
    } else if (isDigit(byte)) {
      let after = index + 1;
      while (isDigit(bytes[after] as number)) after += 1;
      const range = rangeOf(bytes, index, after);
      if (range === 0) return 0;
      if (range === kept)
        for (let digit = index + 1; digit < after; digit += 1) form[length++] = bytes[digit] as number;
      else form[length - 1] = range;
      index = after - 1;
    }
  }
  return length;
}

const quote = 0x22;
const backslash = 0x5c;
const space = 0x20;
const colon = 0x3a;
const hyphen = 0x2d;
const zero = 0x30;
const nine = 0x39;
/** Results of `rangeOf`. */
const kept = -1;
const integer = 0x31;
const hash = 0x32;

const isDigit = (byte: number): boolean => byte >= zero && byte <= nine;

/** @returns the index of the closing quote, or -1 if it is missing or the text contains an escape */
function endOfText(bytes: Uint8Array, from: number, end: number): number {
  for (let index = from; index < end; index += 1) {
    const byte = bytes[index] as number;
    if (byte === quote) return index;
    if (byte === backslash || byte < space) return -1;
  }
  return -1;
}

function isWord(bytes: Uint8Array, from: number, end: number): boolean {
  if (end - from > wordLengthMax) return false;
  for (let index = from; index < end; index += 1) {
    const byte = bytes[index] as number;
    if (!(byte >= 0x61 && byte <= 0x7a) && byte !== hyphen) return false;
  }
  return true;
}

/** @returns a placeholder byte for the integer, `kept` to keep its digits, or 0 if no schema accepts the number */
function rangeOf(bytes: Uint8Array, from: number, end: number): number {
  const next = bytes[end];
  const length = end - from;
  if (next === 0x2e || next === 0x65 || next === 0x45 || (length > 1 && bytes[from] === zero)) return 0;
  if (length < 3) return kept;
  if (length < 16) return integer;
  if (length > 16) return 0;
  let value = 0;
  for (let index = from; index < end; index += 1) value = value * 10 + (bytes[index] as number) - zero;
  // A time, a count or a sequence number; larger numbers are hashes of attempts.
  if (value <= 8_640_000_000_000_000) return integer;
  return Number.isSafeInteger(value) ? hash : 0;
}
