/** `stopgate init codex` writes hooks, which Codex runs only if they are trusted. */
import { chmod } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { codexAppServer } from '../../../support/codex-app-server.ts';
import { runOnce } from '../../../support/terminal.ts';
import { place } from './place.ts';

describe('codex', () => {
  test('without its program, a note says that Codex must still trust the hooks', async () => {
    const { init, read, put } = await place();
    await put('home/.codex/config.toml', 'model = "x"\n');
    const { code, stderr } = await init('codex', '--yes');
    expect(code).toBe(0);
    expect(stderr).toContain('does not trust these hooks yet');
    expect(stderr).not.toContain('are also trusted');
    expect(JSON.parse(await read('home/.codex/hooks.json')).hooks.Stop).toHaveLength(1);
    expect(await read('home/.codex/config.toml')).toBe('model = "x"\n');
  });

  test.each(['model = "x"\n', 'model = "x"', '[a]\nb = 1 # c\n\n'])(
    'its hooks are trusted with the hashes that it reports, and --remove restores %j',
    async (config) => {
      const { put, cwd, read } = await place();
      await chmod(await put('bin/codex', `#!/usr/bin/env node\n${codexAppServer}`), 0o755);
      await put('codex/config.toml', config);
      const env = {
        PATH: `${join(cwd, 'bin')}:${dirname(process.execPath)}`,
        HOME: cwd,
        CODEX_HOME: join(cwd, 'codex'),
      };
      const init = (...argv: string[]) => runOnce(['init', 'codex', '--yes', ...argv], { cwd, env });
      expect((await init()).stderr).toContain('trusted in');
      const text = await read('codex/config.toml');
      expect(text.startsWith(config)).toBe(true);
      expect(text).toMatch(/\[hooks\.state\."[^"]+hooks\.json:Stop:0:0"\]\ntrusted_hash = "sha256:\d+"\n/);
      expect((await init()).stderr).toContain('already up to date');
      expect(await read('codex/config.toml')).toBe(text);
      await init('--policy', 'strict');
      expect((await read('codex/config.toml')).split('trusted_hash')).toHaveLength(text.split('trusted_hash').length);
      expect(await read('codex/config.toml')).not.toBe(text);
      await init('--remove');
      expect(await read('codex/config.toml')).toBe(config);
    },
  );

  test('an invalid config.toml is refused with the position of the error', async () => {
    const { init, put, read } = await place();
    await init('codex', '--yes');
    await put('home/.codex/config.toml', 'model = "x"\n[a\n');
    const { code, stderr } = await init('codex', '--remove', '--yes');
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('config.toml:2:') });
    expect(await read('home/.codex/hooks.json')).toContain('"Stop"');
  });
});
