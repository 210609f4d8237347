/** The fast path reads entries without their schema, with the same result. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { quickRead } from '../../../../machines/entries/quick-read.ts';
import { entrySchemas } from '../../../../machines/index.ts';

const text = fc.oneof(
  fc.constantFrom('', 'a1', 'no id!', '😀'.repeat(2_000), '😀'.repeat(2_001), 'x'.repeat(1_025), '__proto__'),
  fc.string(),
);
const value = fc.oneof(
  { weight: 5, arbitrary: text },
  { weight: 2, arbitrary: fc.array(text, { maxLength: 3 }) },
  fc.constantFrom(0, -0, -1, 7, 1.5, 2 ** 53, true, false, null),
  fc.constantFrom([], {}, ['a.ts'], { content: 'x' }, [{ rule: 'r', passed: true }], ['COMPLETE']),
);
const toolKeys = ['tool', 'ok', 'files', 'call', 'changes', 'command'];
const keys = [...toolKeys, 'step', 'title', 'status', 'attempt', 'stopReason', 'output', 'toolCount'];
const fields = fc.dictionary(fc.constantFrom(...keys, 'validation', 'promises', 'draft', 'holdMs', 'more'), value);
const types = ['tool.started', 'tool.used', 'heartbeat.sent', 'step.updated', 'stop.attempted'] as const;

const plain: Record<(typeof types)[number], object> = {
  'tool.started': { tool: 'Bash', call: 'c1' },
  'tool.used': { tool: 'Edit', ok: true, files: ['src/a.ts'], call: 'c1', changes: 'files', command: 'make' },
  'heartbeat.sent': {},
  'step.updated': { step: '1', title: 'Write tests', status: 'completed' },
  'stop.attempted': { attempt: 'a1', stopReason: 'end', output: 'done', toolCount: 3, files: ['a'], holdMs: 0 },
};

test.each(types)(
  '%s: the fast path accepts only what the schema accepts, with the same fields in the same order',
  (type) => {
    fc.assert(
      fc.property(fields, fc.boolean(), (random, isPlain) => {
        const given = JSON.parse(JSON.stringify(isPlain ? { ...plain[type], ...random } : random));
        const read = quickRead(type, given);
        if (read === null) return;
        const { data } = entrySchemas.worker[type].safeParse(given);
        expect(read).toStrictEqual(data);
        expect(Object.keys(read)).toEqual(Object.keys(data ?? {}));
      }),
      { numRuns: 500 },
    );
  },
);

test.each(types)('%s: the fast path reads a plain entry and ignores unknown fields', (type) => {
  expect(quickRead(type, { ...plain[type], more: 1 })).toEqual(plain[type]);
});

test.each(types)('%s: leaves values that are not objects to the schema', (type) => {
  for (const given of ['no json', null, 7, [], undefined]) expect(quickRead(type, given)).toBeNull();
});

test('leaves other types to their schema', () => {
  expect(quickRead('worker.registered', {})).toBeNull();
});
