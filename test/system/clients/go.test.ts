/** Vets the Go sample and runs it as its page says. Needs Go and its modules. */
import { expect, onTestFinished, test } from 'vitest';
import { openFollower } from './follow-page.ts';

test('docs/go.md: the sample prints what the page shows', async () => {
  const reader = await openFollower();
  onTestFinished(() => reader.close());
  await reader.follow('docs/go.md', 'test/system/clients/go.test.ts');
  const sample = '/path/to/stopgate/docs/examples/go';
  expect(await reader.type(`gofmt -l ${sample}`)).toBe('');
  await reader.type(`go -C ${sample} vet ./...`);
});
