/** `init --policy NAME` without an agent: writes a policy to start from, with its test cases. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openSettings, writeSettings } from '../../../agents/setup/settings-file.ts';
import { AppError } from '../../../errors.ts';
import { findTestCommand } from '../../project/test-command.ts';
import { readTemplateFiles, rulesFile, type TemplateName, templateNames, templates } from '../../templates.ts';
import type { InitContext } from './init-options.ts';

/** Never overwrites a file. @throws AppError input.bad */
export async function writeTemplate(policy: string, { flags, io, out, note, asTyped }: InitContext): Promise<number> {
  const name = templateNames.find((known): known is TemplateName => known === policy);
  if (name === undefined)
    throw new AppError(
      'input.bad',
      `there is no policy '${policy}' to start from; use one of: ${templateNames.join(', ')}. To request a policy for the sessions of an agent, name the agent too`,
    );
  const { policy: _, yes, 'dry-run': dryRun, json, diff, ...others } = flags;
  const [other] = Object.entries(others).find(([, value]) => value !== undefined && value !== false) ?? [];
  if (other !== undefined)
    throw new AppError('input.bad', `--${other} needs the name of an agent: stopgate init AGENT`);
  const tests = findTestCommand(io.cwd);
  const files = readTemplateFiles(name, tests?.run ?? null);
  const existing = [...files.keys()].find((file) => existsSync(join(io.cwd, file)));
  if (existing !== undefined)
    throw new AppError(
      'input.bad',
      `'${existing}' already exists; nothing was written. docs/templates.md shows what to copy`,
    );
  if (!dryRun) for (const [file, text] of files) writeSettings(openSettings(join(io.cwd, file), io.cwd), text);
  if (json) {
    await out.json({ policy: name, tests, dryRun, files: [...files].map(([file, text]) => ({ file, text })) });
    return 0;
  }
  if (dryRun || diff) for (const [file, text] of files) await out.print(out.colors.bold(file), text);
  else await out.print(`wrote ${[...files.keys()].join(', ')}: ${templates[name]}`);
  if (!files.get(rulesFile)?.includes('tests: {')) return 0;
  note(
    tests === null
      ? `no test command was found, so "tests" in ${rulesFile} is an example: change it to yours`
      : `"tests" in ${rulesFile} is ${tests.run.join(' ')} (${tests.from})`,
  );
  if (!dryRun) note(asTyped('"stopgate test" tries the policy on its cases'));
  return 0;
}
