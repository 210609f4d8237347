/** The time to check a token reveals nothing: no comparison of tokens stops early. */
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { type AccessToken, hashOfToken } from '../../../src/config/access-tokens.ts';
import { findCaller } from '../../../src/http/admission.ts';

// Also affects modules that other test files have loaded: files of one worker share them.
const timingSafeEqual = vi.spyOn(crypto, 'timingSafeEqual');
syncBuiltinESMExports();
beforeEach(() => void timingSafeEqual.mockClear());
afterAll(() => {
  timingSafeEqual.mockRestore();
  syncBuiltinESMExports();
});

const known = ['first-token-of-a-team', 'second-token-of-a-team', 'third-token-of-a-team'];
const tokens = known.map(
  (token, index): AccessToken => ({
    name: `t${index}`,
    role: 'agent',
    workers: null,
    fleets: null,
    hashes: [hashOfToken(token)],
  }),
);
const admission = { host: '127.0.0.1', publicUrl: null, isTls: false, tokens: () => tokens, isOpen: () => false };
const ask = (token: string) => findCaller({ authorization: `Bearer ${token}` }, admission);

test.each([
  ['with a wrong first character', 'Xirst-token-of-a-team'],
  ['with a wrong last character', 'first-token-of-a-teaX'],
  ['that is too short', 'f'],
  ['that is too long', 'first-token-of-a-team'.repeat(100)],
])('a token %s is compared with all of them, in constant time', (_what, token) => {
  expect(() => ask(token)).toThrow('not known here');
  expect(timingSafeEqual).toHaveBeenCalledTimes(known.length);
});

test('so is a valid token, whichever it is', () => {
  for (const [index, token] of known.entries()) {
    timingSafeEqual.mockClear();
    expect(ask(token)).toMatchObject({ name: `t${index}` });
    expect(timingSafeEqual).toHaveBeenCalledTimes(known.length);
  }
});
