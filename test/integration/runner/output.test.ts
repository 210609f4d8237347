/** Feedback from a command's output: shortened and cleaned, or parsed as JSON. */
import { describe, expect, test } from 'vitest';
import type { CommandConfig } from '../../../src/config/file.ts';
import { collectOutput } from '../../../src/runner/command-output.ts';
import { createWorkspace, node, sh } from './workspace.ts';

async function feedbackOf(check: CommandConfig): Promise<unknown> {
  const { command } = await createWorkspace({ check });
  return (await command('check')).feedback;
}

/** Feedback for a program that prints these chunks on stdout. */
function tailOf(...chunks: (string | Buffer)[]): unknown {
  const output = collectOutput('tail');
  for (const chunk of chunks) output.add('stdout', Buffer.from(chunk));
  return output.feedback();
}

describe('tail', () => {
  test('contains both streams without the final line break', async () => {
    expect(await feedbackOf(sh('echo one; echo two >&2; exit 1'))).toMatch(/^(one\ntwo|two\none)$/);
  });

  test('is absent if nothing was printed', async () => {
    const { command } = await createWorkspace({ check: sh('exit 1') });
    expect(Object.keys(await command('check'))).not.toContain('feedback');
  });

  test('is also returned with errors and timeouts', async () => {
    const { command } = await createWorkspace({ error: sh('echo why; exit 126'), slow: sh('echo begun; sleep 60') });
    expect(await command('error')).toMatchObject({ outcome: 'error', feedback: 'why' });
    expect(await command('slow', { timeoutMs: 1_500 })).toMatchObject({ outcome: 'timeout', feedback: 'begun' });
  });

  test('contains the last 2,000 complete characters', () => {
    expect(tailOf('x'.repeat(5_000), 'end')).toBe(`${'x'.repeat(1_997)}end`);
    expect(tailOf('x'.repeat(2_000))).toBe('x'.repeat(2_000));
    expect(tailOf(`a${'😀'.repeat(3_000)}`)).toBe('😀'.repeat(2_000));
    // The raw buffer is cut in the middle of a surrogate pair.
    expect(tailOf(`${'😀'.repeat(60_000)}a`)).toBe(`${'😀'.repeat(1_999)}a`);
  });

  test('joins characters split over two chunks, even if the other stream writes in between', () => {
    const output = collectOutput('tail');
    const [first, second] = [Buffer.from('é').subarray(0, 1), Buffer.from('é').subarray(1)];
    output.add('stdout', first);
    output.add('stderr', Buffer.from('!'));
    output.add('stdout', second);
    expect(output.feedback()).toBe('!é');
    expect(tailOf(Buffer.from([0x61, 0xff, 0xe2, 0x82]))).toBe('a\uFFFD\uFFFD');
  });

  test('contains no escape codes or control characters', () => {
    expect(tailOf('\u001B[1;31mred\u001B[0m \u001B[38;5;1', '2mgreen\u001B[K')).toBe('red green');
    expect(tailOf('\u001B]0;my title\u0007a\u001B]8;;http://x\u001B\\link\u001B]8;;\u001B\\ \u001B(Bb\u001B7c')).toBe(
      'alink bc',
    );
    expect(tailOf('a\u0000\u0008\u007F\u009B1mb\u0085\tc\r\nd\re\u001B')).toBe('ab\tc\nd\ne');
    expect(tailOf('\u001B]never ended')).toBe('never ended');
  });

  test('takes linear time for text that resembles escape codes', () => {
    const many = 1_000_000; // quadratic time would take hours
    expect(tailOf('\u001B['.repeat(many), '\u001B]'.repeat(many), `\u001B[${'1'.repeat(many)}`)).toMatch(/^1+$/);
  });

  test('needs little memory for a large output', async () => {
    const { command } = await createWorkspace({
      check: sh(`head -c 200000000 /dev/zero | tr '\\0' x; echo end; exit 1`),
    });
    const sizes: number[] = [];
    const timer = setInterval(() => sizes.push(process.memoryUsage().rss), 5);
    const before = process.memoryUsage().rss;
    const result = await command('check');
    clearInterval(timer);
    expect(result).toMatchObject({ outcome: 'fail', feedback: `${'x'.repeat(1_997)}end`.slice(-2_000) });
    expect(sizes.length).toBeGreaterThan(3);
    expect(Math.max(...sizes) - before).toBeLessThan(120_000_000);
  });
});

describe('json', () => {
  const json = (source: string) => node(source, { feedback: 'json' });

  test.each([
    { printed: '{"failed":["adds"],"reason":"not ours"}', value: { failed: ['adds'], reason: 'not ours' } },
    { printed: '[1, "two", null]\n', value: [1, 'two', null] },
    { printed: '"text"', value: 'text' },
    { printed: 'null', value: null },
  ])('is the value of $printed', async ({ printed, value }) => {
    const source = `console.error('a warning'); process.stdout.write(${JSON.stringify(printed)}); process.exitCode = 1`;
    const { command } = await createWorkspace({ check: json(source) });
    expect(await command('check')).toMatchObject({
      outcome: 'fail',
      reason: 'Command check failed (exit 1)',
      feedback: value,
    });
  });

  test('falls back to the tail with a note if stdout is not JSON', async () => {
    expect(await feedbackOf(json('console.log("{oh")'))).toBe('(stdout is not JSON; the end of the output:)\n{oh');
    expect(await feedbackOf(json(''))).toBe('(stdout is empty, not JSON)');
    expect(await feedbackOf(json('console.error("{}")'))).toBe(
      '(stdout is empty, not JSON; the end of the output:)\n{}',
    );
  });

  test('falls back to the tail if stdout is too large, or too large after serialising', () => {
    const read = (text: string) => {
      const output = collectOutput('json');
      output.add('stdout', Buffer.from(text));
      return output.feedback();
    };
    const fits = 'x'.repeat(32_766);
    expect(read(`"${fits}"`)).toBe(fits);
    for (const text of [`"${fits}x"`, `[${Array(6_000).fill('1e20').join()}]`]) {
      expect(read(text)).toContain(
        '(stdout is over 32768 bytes, too large for JSON feedback; the end of the output:)\n',
      );
      expect(String(read(text)).endsWith(text.slice(-1_000))).toBe(true);
    }
    expect(read(`${'['.repeat(64)}${']'.repeat(64)}`)).toBeInstanceOf(Array);
    expect(read(`${'['.repeat(65)}${']'.repeat(65)}`)).toContain('(stdout nests deeper than 64;');
    expect(read(`${'['.repeat(16_000)}${']'.repeat(16_000)}`)).toMatch(/^\(stdout (is not JSON|nests deeper than 64);/);
  });
});

test('none returns no feedback', async () => {
  const { command } = await createWorkspace({ check: sh('echo {}; exit 1', { feedback: 'none' }) });
  expect(Object.keys(await command('check')).sort()).toEqual(['outcome', 'reason', 'tookMs']);
});
