/** Runs a command line like a reader would. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** `code` is -1 after a signal. `printed` contains both streams, interleaved. */
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
