/** Follows a page literally, in an empty folder, with a real shell, `stopgate dev` and the tools of a language. */
import { join } from 'node:path';
import { readEnvironment } from '../../../src/config/environment.ts';
import { firstDifference, readConsole } from '../../docs/shown-output.ts';
import { runBash } from '../../support/bash.ts';
import { makeFolder } from '../../support/deployment.ts';
import { clear, startDev } from '../../support/dev.ts';
import { readPage, root } from '../../support/markdown.ts';
import { endService, type Service, serveShipped } from '../../support/service.ts';

export type Follower = {
  readonly folder: string;
  /** Types a line. @throws Error with the output if the exit code is not 0 */
  type(line: string, env?: Readonly<Record<string, string>>): Promise<string>;
  /** Runs the fences of a page that name `reason` as their test. */
  follow(path: string, reason: string, env?: Readonly<Record<string, string>>): Promise<void>;
  close(): Promise<void>;
};

export async function openFollower(): Promise<Follower> {
  const folder = await makeFolder();
  let service: Service | null = null;
  const type: Follower['type'] = (line, env = {}) =>
    run(line.replaceAll('/path/to/stopgate', root.replace(/\/$/, '')), folder.path, env);
  return {
    folder: folder.path,
    type,
    async follow(path, reason, env) {
      const page = readPage(path);
      for (const step of page.steps) {
        if ('kind' in step) {
          service ??= await startDev(folder, serveShipped);
          continue;
        }
        const file = /^(?:#|\/\/) ([\w.-]+\.\w+)$/.exec(step.text.split('\n', 1)[0] ?? '')?.[1];
        if (file !== undefined) await folder.write(file, `${step.text}\n`);
        if (step.notRun !== reason) continue;
        if (step.lang === 'sh') for (const line of step.text.split('\n')) await type(line, env);
        for (const { line, command, output } of step.lang === 'console' ? readConsole(step.text, step.line) : []) {
          const printed = await type(command, env);
          const difference = firstDifference(output, printed);
          if (difference !== null)
            throw new Error(`${path}:${line}: $ ${command}\nprinted:\n${printed}\nthe page shows ${difference}`);
        }
      }
    },
    async close() {
      if (service !== null) await endService(service);
      await clear(folder);
    },
  };
}

async function run(line: string, cwd: string, given: Readonly<Record<string, string>>): Promise<string> {
  const inherited = Object.entries(readEnvironment()).filter(([name]) => !/^(STOPGATE|VITEST|OPENAI)/.test(name));
  const own = { PIP_NO_COMPILE: '1', PYTHONPYCACHEPREFIX: join(cwd, '.pycache'), NO_COLOR: '1' };
  const env = { ...Object.fromEntries(inherited), ...own, ...given };
  const { code, printed } = await runBash(line, { cwd, env });
  if (code !== 0) throw new Error(`$ ${line}\nended with ${code}, having printed:\n${printed}`);
  return printed;
}
