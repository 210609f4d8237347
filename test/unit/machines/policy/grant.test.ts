/** Reads the amounts that a person grants. One that is not recognised must not grant more than the person meant. */
import { expect, test } from 'vitest';
import { readEntry } from '../../../../machines/entries/read-entry.ts';

const read = (grant: unknown) => {
  const text = JSON.stringify({ by: 'ann', verdict: 'resume', grant });
  return readEntry('stopgate.main.own.worker.w1.escalation.resolved', text, text.length);
};

test.each<unknown>([
  { usd: -1 },
  { usd: '20' },
  { usd: 1e9 },
  { usd: null },
  { dollars: 20 },
  { usd: 5, tokens: 1.5 },
  { usd: 5, __proto__: null, constructor: 1 },
  {},
  [],
  '20usd',
  20,
  null,
])('an answer that grants %j is malformed, and resolves nothing', (grant) => {
  expect(read(grant)).toMatchObject({ code: expect.any(String) });
});

test.each<unknown>([undefined, { usd: 0 }, { usd: 5, turns: 3 }, { time: 60_000 }])(
  'an answer may grant %j',
  (grant) => {
    expect(read(grant)).toMatchObject({ data: { verdict: 'resume' } });
  },
);
