/** A command line as a reader types it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** `code`: -1 when a signal ended it; `printed`: both streams, as they came. */
export async function runBash(
  line: string,
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<{ readonly code: number; readonly printed: string }> {
  const child = spawn('bash', ['-c', line], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code: code ?? -1, printed };
}
