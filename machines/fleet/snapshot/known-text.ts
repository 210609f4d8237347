/** The attempts of a worker that are known, as text: of each the hash in nine digits, then the place of its decision. */
import type { KnownAttempts } from '../known-attempts.ts';

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_';
const codes = Array.from(digits, (digit) => digit.charCodeAt(0));
const digitValues = new Uint8Array(128);
for (const [value, code] of codes.entries()) digitValues[code] = value;

/** 53 bits. */
const hashDigits = 9;

export function encodeKnown(known: Readonly<KnownAttempts>): string {
  const text: number[] = [];
  for (let at = 0; at < known.length; at += 2) {
    let hash = known[at] as number;
    for (let count = 0; count < hashDigits; count += 1) {
      text.push(codes[hash % 64] as number);
      hash = Math.floor(hash / 64);
    }
    // Five bits in each digit; the sixth says that more follow.
    let seq = known[at + 1] as number;
    for (; seq >= 32; seq = Math.floor(seq / 32)) text.push(codes[32 + (seq % 32)] as number);
    text.push(codes[seq] as number);
  }
  return String.fromCharCode(...text);
}

export function decodeKnown(text: string): KnownAttempts {
  const known: KnownAttempts = [];
  for (let at = 0; at < text.length; ) {
    let hash = 0;
    for (let digit = hashDigits - 1; digit >= 0; digit -= 1) hash = hash * 64 + valueAt(text, at + digit);
    at += hashDigits;
    let seq = 0;
    for (let factor = 1; ; factor *= 32) {
      const value = valueAt(text, at);
      at += 1;
      seq += (value % 32) * factor;
      if (value < 32) break;
    }
    known.push(hash, seq);
  }
  return known;
}

const valueAt = (text: string, at: number): number => digitValues[text.charCodeAt(at)] ?? 0;
