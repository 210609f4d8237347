/** init --agents-md: a section in AGENTS.md, which --remove takes out byte for byte. */
import { expect, test } from 'vitest';
import { isGone, place } from './place.ts';

test.each(['# Ours\n', 'without a last line feed', '', '\n\n', 'windows\r\n'])(
  'after %j it is added once, and removed without a trace',
  async (own) => {
    const { init, read, put } = await place();
    await put('AGENTS.md', own);
    expect((await init('claude', '--agents-md', '--dry-run')).stdout).toContain('AGENTS.md');
    expect(await read('AGENTS.md')).toBe(own);
    await init('claude', '--agents-md', '--yes');
    const text = await read('AGENTS.md');
    expect(text.startsWith(own)).toBe(true);
    expect(text).toContain('## Before you stop');
    await init('gemini', '--agents-md', '--yes');
    expect(await read('AGENTS.md')).toBe(text);
    await init('claude', '--remove', '--yes');
    expect(await read('AGENTS.md')).toBe(own);
  },
);

test('a file that it made is deleted, and without the option there is none', async () => {
  const { init, read } = await place();
  await init('claude', '--yes');
  await isGone(read('AGENTS.md'));
  await init('claude', '--agents-md', '--yes');
  expect(await read('AGENTS.md')).toMatch(/^<!-- stopgate: begin -->/);
  await init('claude', '--remove', '--yes');
  await isGone(read('AGENTS.md'));
});

test('an older section is replaced, and text after it stays', async () => {
  const { init, read, put } = await place();
  await put('AGENTS.md', 'a\n\n\n<!-- stopgate: begin -->\nold\n<!-- stopgate: end -->\nb\n');
  await init('claude', '--agents-md', '--yes');
  expect(await read('AGENTS.md')).toMatch(
    /^a\n\n\n<!-- stopgate: begin -->\n## Before[\s\S]*<!-- stopgate: end -->\nb\n$/,
  );
  await init('claude', '--remove', '--yes');
  expect(await read('AGENTS.md')).toBe('a\nb\n');
});

test('if its end is missing, nothing is removed', async () => {
  const { init, read, put } = await place();
  const own = 'a\n<!-- stopgate: begin -->\nmine\n';
  await put('AGENTS.md', own);
  await init('claude', '--yes');
  await init('claude', '--remove', '--yes');
  expect(await read('AGENTS.md')).toBe(own);
});
