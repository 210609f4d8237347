/**
 * A shell for the commands of a page. bash runs each line. This process stands in for the programs named here,
 * because starting node for each of a hundred commands takes minutes.
 */
import { once } from 'node:events';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { runBash } from '../support/bash.ts';

export type Call = {
  readonly program: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly stdin: string;
  readonly env: Readonly<Record<string, string>>;
};
export type Answer = { readonly code: number; readonly stdout: string; readonly stderr: string };
export type Shell = {
  /** Runs one line of a page. `printed` has both streams. */
  run(line: string): Promise<{ readonly code: number; readonly printed: string }>;
  close(): Promise<void>;
};

/** @param home the folder of its tools, and `~`; @param cwd the folder in which the commands run */
export async function openShell(
  { home, cwd }: { readonly home: string; readonly cwd: string },
  programs: Readonly<Record<string, (call: Call) => Promise<Answer>>>,
): Promise<Shell> {
  const tools = join(home, 'bin');
  const calls = join(home, 'calls');
  for (const folder of [tools, calls]) await mkdir(folder, { recursive: true });
  const server = createServer((socket) => void serve(socket, programs)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  for (const name of Object.keys(programs)) {
    await writeFile(join(tools, name), proxy(port, calls));
    await chmod(join(tools, name), 0o755);
  }
  const env = { PATH: `${tools}:/usr/local/bin:/usr/bin:/bin`, HOME: home, LANG: 'C.UTF-8', NO_COLOR: '1' };
  return {
    run: (line) => runBash(line, { cwd, env }),
    async close() {
      server.close();
      await once(server, 'close');
    },
  };
}

/** Passes its arguments, environment and input on in files, and returns the answer it reads from files. */
const proxy = (port: number, calls: string): string => `#!/bin/bash
call=$(mktemp -d ${calls}/XXXXXX)
cat > "$call/stdin"
env -0 > "$call/env"
printf '%s\\0' "$PWD" "\${0##*/}" "$@" > "$call/argv"
exec 3<>/dev/tcp/127.0.0.1/${port}
echo "$call" >&3
read -r code <&3
cat "$call/stdout"
cat "$call/stderr" >&2
exit "$code"
`;

async function serve(socket: Socket, programs: Readonly<Record<string, (call: Call) => Promise<Answer>>>) {
  socket.on('error', () => undefined);
  const [folder] = (await once(createInterface({ input: socket }), 'line')) as [string];
  const read = (name: string) => readFile(join(folder, name), 'utf8');
  const [cwd = '', program = '', ...argv] = (await read('argv')).split('\0').slice(0, -1);
  const env = Object.fromEntries(
    (await read('env')).split('\0').map((line) => [line.split('=', 1)[0] ?? '', line.slice(line.indexOf('=') + 1)]),
  );
  const answer = await (
    programs[program]?.({ program, argv, cwd, stdin: await read('stdin'), env }) ?? Promise.reject(new Error(program))
  ).catch((error: Error) => ({ code: 70, stdout: '', stderr: `${error.stack}\n` }));
  await writeFile(join(folder, 'stdout'), answer.stdout);
  await writeFile(join(folder, 'stderr'), answer.stderr);
  socket.end(`${answer.code}\n`);
}
