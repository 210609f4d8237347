/** Separate folders in which to run `stopgate doctor`, and its report. */
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { type Folder, makeFolder } from '../../support/deployment.ts';

type Finding = { readonly state: string; readonly about: string; readonly text: string; readonly fix?: string };

const systemPath = '/usr/local/bin:/usr/bin:/bin:/usr/sbin';

async function ownFolder(files: Record<string, string> = {}): Promise<Folder> {
  const folder = await makeFolder(files);
  onTestFinished(() => folder.remove());
  return folder;
}

/** A project, a home and a PATH. Project and home differ, so that the scopes differ. */
export async function makeDoctorFolders(files: Record<string, string> = {}) {
  const folder = await ownFolder({ 'project/.keep': '', 'home/.keep': '', 'bin/.keep': '', ...files });
  const cwd = join(folder.path, 'project');
  const PATH = `${join(folder.path, 'bin')}:${systemPath}`;
  const run = (args: readonly string[], env: Record<string, string> = {}) =>
    runCommand(args, { cwd, env: { HOME: join(folder.path, 'home'), PATH, ...env } });
  return {
    folder,
    cwd,
    run,
    async doctor(args: readonly string[], env: Record<string, string> = {}) {
      const { code, stdout, stderr } = await run(['doctor', ...args, '--json'], env);
      expect(stderr).toBe('');
      const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] };
      expect(ok).toBe(code === 0);
      const texts = (state: string) => findings.filter((one) => one.state === state).map(({ text }) => text);
      return { code, findings, ok: texts('ok'), warn: texts('warn'), bad: texts('bad'), skip: texts('skip') };
    },
    async program(name: string, script: string) {
      await chmod(await folder.write(`bin/${name}`, `#!/usr/bin/env node\n${script}`), 0o755);
    },
  };
}
/** Matches a list that has a text containing this one. */
export const holding = (text: string) => expect.arrayContaining([expect.stringContaining(text)]);
