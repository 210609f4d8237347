/** How much of a used-up budget an operator grants on the page. */
import { expect, test } from 'vitest';
import type { BudgetLine } from '../../../machines/index.ts';
import {
  amountsText,
  defaultText,
  limitUsedUp,
  readGrant,
  whyOver,
} from '../../../src/inspector/client/operator/grant.ts';

const line = (kind: BudgetLine['kind'], limit: number, more: Partial<BudgetLine> = {}): BudgetLine => ({
  per: 'session',
  kind,
  used: limit,
  limit,
  ...more,
});

test.each([
  [line('usd', 10), '5', { usd: 5 }],
  [line('usd', 10), ' 0.25 ', { usd: 0.25 }],
  [line('usd', 10), '10', null],
  [line('usd', 5, { configured: 10 }), '10', null],
  [line('usd', 5, { configured: 10 }), '5', { usd: 5 }],
  [line('usd', 10), '-1', null],
  [line('usd', 10), '1e3', null],
  [line('usd', 10), '', null],
  [line('tokens', 1000), '200000', { tokens: 200_000 }],
  [line('turns', 10), '1.5', null],
  [line('time', 600_000), '1.5h', { time: 5_400_000 }],
  [line('time', 600_000), '600', null],
  [line('time', 600_000), '10m', null],
] as const)('%o, typed %j: grants %o', (of, typed, grant) => {
  expect(readGrant(of, typed)).toEqual(grant);
});

test('the field begins with what is configured', () => {
  const lines = [line('usd', 5, { configured: 10 }), line('time', 7_200_000), line('tokens', 5_000_000)];
  expect(lines.map(defaultText)).toEqual(['10', '2h', '5000000']);
});

test('says what was used, of what, and by whom', () => {
  expect(whyOver(line('usd', 10, { used: 10.02 }))).toBe('Used $10.02 of $10.00 in this session.');
  expect(whyOver(line('tokens', 1000, { per: 'day', configured: 5000 }))).toBe(
    'Used 1,000 of the 1,000 tokens granted today, by all agents.',
  );
  expect(amountsText({ usd: 5, turns: 10 })).toBe('$5.00, 10 turns');
});

const escalation = { seq: 7, cause: 'budget', budget: 'session' };
const decided = (seq: number, input: object) => ({ seq, verdicts: [{ guard: 'bypass', input }] });
const viewOf = (view: object) => limitUsedUp(view as Parameters<typeof limitUsedUp>[0]);

test('the limit is the one of the decision that escalated, otherwise one that is used up now', () => {
  const then = { per: 'session', kind: 'usd', used: 10.02, limit: 10 };
  const budgets = [line('turns', 5, { used: 2 }), line('tokens', 100, { per: 'day' }), line('usd', 10, { used: 11 })];
  expect(viewOf({ escalation, lastDecision: decided(7, then), budgets })).toEqual(then);
  expect(viewOf({ escalation, lastDecision: decided(8, {}), budgets })).toBe(budgets[2]);
  expect(viewOf({ escalation, lastDecision: decided(7, { kind: 'other', used: 1, limit: 1 }), budgets })).toBe(
    budgets[2],
  );
  expect(viewOf({ escalation: { ...escalation, budget: 'task' }, lastDecision: null, budgets })).toBeNull();
  expect(viewOf({ escalation: { seq: 7, cause: 'stuck' }, lastDecision: decided(7, then), budgets })).toBeNull();
});
