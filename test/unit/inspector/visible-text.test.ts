/** Invisible characters in untrusted text are shown by name; joiners needed for spelling are kept. */
import { expect, test } from 'vitest';
import { visible } from '../../../src/inspector/visible-text.ts';

const joiner = '\u200d';
const nonJoiner = '\u200c';

test.each([
  ['a family of emoji', `👩${joiner}👩${joiner}👧`],
  ['an emoji with a skin tone', `👩🏽${joiner}💻`],
  ['an emoji with a variation selector', `❤\ufe0f${joiner}🔥`],
  ['Persian', `می${nonJoiner}خواهم`],
  ['Hindi', `क्${joiner}ष`],
  ['Sinhala', `ශ්${joiner}රී`],
])('%s keeps its joiners', (_what, text) => {
  expect(visible(text)).toBe(text);
});

test.each([
  ['a joiner between Latin letters', `rm${joiner}rf`, 'rm⟨U+200D⟩rf'],
  ['a non-joiner at the end', `می${nonJoiner}`, 'می⟨U+200C⟩'],
  ['a joiner between an emoji and a letter', `👩${joiner}a`, '👩⟨U+200D⟩a'],
  ['a change of direction', 'a\u202eb', 'a⟨U+202E⟩b'],
  ['an escape', 'a\u001b[1mb', 'a⟨ESC⟩[1mb'],
  ['half a surrogate pair', 'a\ud83d', 'a⟨U+D83D⟩'],
])('%s is shown', (_what, text, shown) => {
  expect(visible(text)).toBe(shown);
});
