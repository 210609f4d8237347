/** The policy lab without a page: completion by the schema, groups of differences, texts in links. */
import { CompletionContext } from '@codemirror/autocomplete';
import { yaml } from '@codemirror/lang-yaml';
import { EditorState } from '@codemirror/state';
import { expect, test } from 'vitest';
import { stopgateYamlSchema } from '../../../src/config/schema.ts';
import { completeFrom, type Schema } from '../../../src/inspector/client/lab/completion.ts';
import {
  fromFragment,
  type Grouping,
  groupDifferences,
  sharedCharsMax,
  toFragment,
} from '../../../src/inspector/client/lab/share.ts';
import type { WhatIfDifference } from '../../../src/inspector/messages.ts';

const complete = completeFrom(stopgateYamlSchema() as Schema);

/** The labels offered at `|`, or null if nothing is offered. */
function offered(marked: string, explicit = true): string[] | null {
  const pos = marked.indexOf('|');
  const state = EditorState.create({ doc: marked.replace('|', ''), extensions: [yaml()] });
  return complete(new CompletionContext(state, pos, explicit))?.options.map(({ label }) => label) ?? null;
}

test.each([
  ['at the top', '|', ['policies', 'assign'], ['nats', 'commands']],
  ['a key of a policy', 'policies:\n  default:\n    ret|', ['retries', 'onCap', 'ask', 'checks'], ['policies']],
  ['beside other keys', 'policies:\n  default:\n    retries: 3\n    on|', ['onCap', 'onStale'], []],
  ['on a blank line', 'policies:\n  default:\n    retries: 3\n    |', ['onCap', 'checks'], []],
  [
    'on a blank line under a check',
    'policies:\n  a:\n    checks:\n      - plan: {}\n        |',
    ['onError', 'when'],
    [],
  ],
  ['a kind of check', 'policies:\n  a:\n    checks:\n      - pl|', ['plan', 'files', 'command', 'remote'], []],
  ['in braces', 'policies: { default: { retries: 3, st| } }', ['stuckAfter', 'steps'], ['assign']],
  ['a check within another', 'policies:\n  a:\n    checks:\n      - any:\n          - co|', ['command', 'all'], []],
  ['a value', 'policies:\n  a:\n    onCap: |', ['allow', 'escalate'], ['retries']],
  [
    'a value of a check',
    'policies:\n  a:\n    checks:\n      - remote: x\n        onError: b|',
    ['block', 'allow'],
    [],
  ],
  ['a flag', 'strict: |', ['true', 'false'], []],
  ['what a row of assign has', 'assign:\n  - ag|', ['agent', 'policy', 'labels'], ['retries']],
])('completes %s', (_what, text, some, none) => {
  const labels = offered(text) ?? [];
  expect(labels).toEqual(expect.arrayContaining([...some]));
  for (const label of none) expect(labels).not.toContain(label);
});

test('offers nothing in a comment, under an unknown key, or before anything is typed', () => {
  expect(offered('policies:\n  a: # ret|')).toBeNull();
  expect(offered('nonsense:\n  a: |')).toBeNull();
  expect(offered('policies:\n  a:\n    |', false)).toBeNull();
});

const difference = (worker: string, guards: WhatIfDifference['guards'], after: object | null): WhatIfDifference =>
  ({
    worker,
    attempt: 'a',
    seq: 1,
    at: '',
    guards,
    missingCheck: after === null ? 'scan' : null,
    after,
    before: { cause: 'incomplete', policy: { name: 'default' } },
  }) as unknown as WhatIfDifference;

test('groups differences by policy, guard or cause, largest first and unknown results last', () => {
  const complete = { cause: 'complete', policy: { name: 'default' } };
  const differences = [
    difference('w1', ['checks', 'done'], null),
    difference('w2', ['checks', 'retries'], { cause: 'capped', policy: { name: 'strict' } }),
    ...['w3', 'w4'].map((worker) => difference(worker, ['checks', 'done'], complete)),
  ];
  const titles = (by: Grouping) =>
    groupDifferences(differences, by).map(
      (groupDifference) => `${groupDifference.title} ${groupDifference.differences.length}`,
    );
  expect(titles('guard')).toEqual(['checks → done 2', 'checks → retries 1', 'the log has no result of scan 1']);
  expect(titles('policy')).toEqual(['default 2', 'default → strict 1', 'the log has no result of scan 1']);
  expect(titles('cause').slice(0, 1)).toEqual(['incomplete → complete 2']);
});

test('a text survives a link; a foreign, truncated or huge fragment is rejected', async () => {
  const text = 'policies:\n  default: { retries: 3 } # ünïcode – 漢字\n'.repeat(20);
  const fragment = await toFragment(text);
  expect(fragment).toMatch(/^#policy=[\w-]+$/);
  expect(fragment.length).toBeLessThan(text.length / 4);
  expect(await fromFragment(fragment)).toBe(text);
  expect(await fromFragment('#elsewhere')).toBeNull();
  expect(await fromFragment(fragment.slice(0, -20))).toBeNull();
  expect(await fromFragment('#policy=%%%')).toBeNull();
  const bytes = await new Response(
    new Blob(['a'.repeat(sharedCharsMax * 8)]).stream().pipeThrough(new CompressionStream('deflate-raw')),
  ).arrayBuffer();
  expect(await fromFragment(`#policy=${Buffer.from(bytes).toString('base64url')}`)).toBeNull();
});
