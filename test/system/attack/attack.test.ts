/** `npm run test:attack` in its short form: two rounds of all attacks at once. */
import { expect, test } from 'vitest';
import { attack } from './attack.ts';
import { attackers } from './attackers.ts';

test('an honest worker gets right answers among attackers, and nothing ends or is lost', {
  timeout: 300_000,
}, async () => {
  const report = await attack({ attackers, isOver: (rounds) => rounds === 2 });
  expect(report).toMatchObject({ wrong: [], unanswered: 0, lost: 0, ended: [], restarted: true });
  expect(report.answers).toBeGreaterThan(0);
  expect(report.entries).toBeGreaterThan(0);
  for (const [name, { sent }] of Object.entries(report.attacks)) expect(sent, name).toBeGreaterThan(0);
});
