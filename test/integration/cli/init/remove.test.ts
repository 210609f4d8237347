/** `stopgate init --remove` restores the file, and init never changes lines that are not ours. */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isGone, place, type Settings } from './place.ts';

describe('--remove restores the exact bytes of', () => {
  const foreign = '{ "hooks": [{ "type": "command", "command": "mine" }] }';
  test.each([
    ['an empty object', '{}'],
    ['an empty object in lines', '{\n}\n'],
    ['other settings', '{\n  "model": "opus",\n  "env": { "A": "1" }\n}\n'],
    ['no line end at the end', '{"model":"opus"}'],
    ['tabs and CRLF', '{\r\n\t"model": "opus",\r\n\t"hooks": {\r\n\t\t"Stop": []\r\n\t}\r\n}\r\n'],
    ['a byte order mark', '\uFEFF{ "model": "opus" }\n'],
    ['empty hooks', '{ "hooks": {} }'],
    ['empty hooks in lines', '{\n  "hooks": {\n  }\n}'],
    ['an empty list', '{\n  "hooks": {\n    "Stop": [],\n    "PreToolUse": [ ]\n  }\n}\n'],
    [
      'hooks of others',
      `{\n  "hooks": {\n    "Stop": [\n      ${foreign}\n    ],\n    "PreCompact": [${foreign}]\n  }\n}\n`,
    ],
    [
      'comments and trailing commas',
      `// top\n{\n  "a": 1, // one\n  /* two */ "hooks": { // three\n    "Stop": [\n      ${foreign}, // four\n    ], // five\n  },\n  // six\n}\n// end\n`,
    ],
    ['a trailing comma on the line of the bracket', `{\n  "hooks": { "Stop": [\n    ${foreign}\n  ,] },\n}\n`],
    ['a comment behind the last', `{\n  "a": 1 // one\n  // two\n}`],
  ])('%s', async (_what, text) => {
    for (const more of [[], ['--block-cap', '20']]) await giveBack(text, more);
  });

  async function giveBack(text: string, more: readonly string[]) {
    const { init, read, put } = await place();
    await put('.claude/settings.json', text);
    expect((await init('claude', '--yes', ...more)).code).toBe(0);
    expect((await init('claude', ...more)).stderr).toContain('already up to date');
    const between = await read('.claude/settings.json');
    expect(between).toContain('/hooks/claude');
    for (const comment of text.match(/\/\/ \w+/g) ?? []) expect(between).toContain(comment);
    expect((await init('claude', '--remove', '--yes')).code).toBe(0);
    expect(await read('.claude/settings.json')).toBe(text);
  }

  test('hooks of others with names like ours stay, and so does text after ours in the same line', async () => {
    const { init, read, put } = await place();
    const others = [
      '~/hooks/claude --lint',
      '/opt/hooks/claude',
      'node /opt/other/hook-command/main.js claude',
      'my-stopgate-like hook claude',
    ].map((command) => `{ "hooks": [{ "type": "command", "command": "${command}" }] }`);
    const ours = [
      { type: 'http', url: 'http://127.0.0.1:4280/hooks/claude' },
      { type: 'command', command: 'npx stopgate hook claude' },
      { type: 'command', command: "'/opt/stopgate/dist/src/main.js' hook claude" },
      { type: 'command', command: 'node /opt/stopgate/dist/src/hook-command/main.js claude --http 127.0.0.1:4280' },
      {
        type: 'command',
        command: "curl -sf --data-binary @- 'http://127.0.0.1:4280/hooks/claude?event=Stop' || exit 0",
      },
    ].map((handler) => JSON.stringify({ hooks: [handler] }));
    const settings = (before: string, after: string) =>
      `{ "hooks": { "Stop": [\n  // theirs\n  ${before}${others.join(', ')}${after}\n] } }\n`;
    await put('.claude/settings.json', settings(`${ours.join(', ')}, `, ''));
    expect((await init('claude', '--remove', '--yes')).code).toBe(0);
    expect(await read('.claude/settings.json')).toBe(settings('', ''));
  });

  test('a file that init created is deleted, with folders that are then empty', async () => {
    const { cwd, init, put } = await place();
    for (const [agent, folder] of [
      ['claude', '.claude'],
      ['copilot', '.github'],
    ] as const) {
      for (const other of [null, 'theirs.md']) {
        if (other !== null) await put(join(folder, other), 'theirs');
        await init(agent, '--yes');
        expect(await readdir(join(cwd, folder))).not.toEqual(other === null ? [] : [other]);
        await init(agent, '--remove', '--yes');
        const left = existsSync(join(cwd, folder)) ? await readdir(join(cwd, folder)) : null;
        expect(left).toEqual(other === null ? null : [other]);
      }
    }
  });

  test('without our lines, nothing is changed', async () => {
    const { init, read } = await place();
    await init('claude', '--yes');
    await init('claude', '--remove', '--yes');
    await isGone(read('.claude/settings.json'));
    expect(await init('claude', '--remove')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('has no settings of stopgate'),
    });
  });

  test('lines that others added after ours stay', async () => {
    const { init, read, put } = await place();
    await init('claude', '--yes');
    const settings = JSON.parse(await read('.claude/settings.json')) as Settings;
    settings.hooks.Stop?.push({ hooks: [{ type: 'command', command: 'theirs' }] });
    await put('.claude/settings.json', JSON.stringify(settings, null, 2));
    await init('claude', '--remove', '--yes');
    expect(JSON.parse(await read('.claude/settings.json'))).toEqual({
      hooks: { Stop: [{ hooks: [{ type: 'command', command: 'theirs' }] }] },
    });
  });
});
