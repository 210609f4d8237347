/** `stopgate init --block-cap` sets how often an agent can be blocked. */
import { describe, expect, test } from 'vitest';
import { isGone, place } from './place.ts';

describe('--block-cap', () => {
  const file = '.claude/settings.json';
  const cap = 'CLAUDE_CODE_STOP_HOOK_BLOCK_CAP';

  test.each([
    { agent: 'claude', own: file, variable: cap, more: 0 },
    // The agent ignores the block that reaches its limit, so the limit is one higher.
    { agent: 'qwen', own: '.qwen/settings.json', variable: 'QWEN_CODE_STOP_HOOK_BLOCK_CAP', more: 1 },
  ])(
    'raises the cap of $agent until a run without it, also in our own file',
    async ({ agent, own, variable, more }) => {
      const { init, read } = await place();
      const env = async () => (JSON.parse(await read(own)) as { env?: Record<string, string> }).env;
      await init(agent, '--yes', '--block-cap', '20');
      expect(await env()).toMatchObject({ [variable]: String(20 + more) });
      const least = more;
      await init(agent, '--yes', '--block-cap', String(least), '--http', '127.0.0.1:5555');
      expect(await env()).toMatchObject({ [variable]: String(least + more) });
      await init(agent, '--yes');
      expect(await env()).toBeUndefined();
      await init(agent, '--yes', '--block-cap', '20');
      await init(agent, '--remove', '--yes');
      await isGone(read(own));
    },
  );

  test('does not change a cap of the user', async () => {
    const { init, read, put } = await place();
    const text = `{\n  "env": { "${cap}": "12" }\n}\n`;
    await put(file, text);
    const { code, stderr } = await init('claude', '--yes', '--block-cap', '20');
    expect({ code, text: await read(file) }).toEqual({ code: 2, text });
    expect(stderr).toContain(`settings.json:2:12: ${cap} is already set`);
    await init('claude', '--yes', '--block-cap', '12');
    expect(await read(file)).toContain('/hooks/claude');
    await init('claude', '--remove', '--yes');
    expect(await read(file)).toBe(text);
    await init('claude', '--yes');
    await init('claude', '--remove', '--yes');
    expect(await read(file)).toBe(text);
  });

  test('a cap that the user changed stays', async () => {
    const { init, read, put } = await place();
    await init('claude', '--yes', '--block-cap', '20');
    await put(file, (await read(file)).replace(`"${cap}": "20"`, `"${cap}": "30"`));
    await init('claude', '--remove', '--yes');
    expect(JSON.parse(await read(file))).toEqual({ env: { [cap]: '30' } });
  });
});
