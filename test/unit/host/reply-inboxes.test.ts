/** Each entry of an open attempt may name an inbox. */
import { expect, test } from 'vitest';
import { createReplyInboxes } from '../../../src/host/intake/reply-inboxes.ts';

test('the first eight inboxes of an attempt are kept, each once, and are taken together', () => {
  const inboxes = createReplyInboxes();
  for (const count of [1, 1, 2, 3, 4, 5, 6, 7, 8, 9]) inboxes.add('w1:a1', `_INBOX.${count}`);
  inboxes.add('w2:a1', '_INBOX.other');
  const restored = createReplyInboxes();
  restored.restore(inboxes.capture());
  expect(restored.take('w1:a1')).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((count) => `_INBOX.${count}`));
  expect(restored.take('w1:a1')).toEqual([]);
  expect(restored.capture()).toEqual([['w2:a1', ['_INBOX.other']]]);
});
