#!/usr/bin/env node
/** The entry point. Agents wait for `stopgate hook` at every tool call, so it imports nothing else. */
const [, , command = '', ...rest] = process.argv;
if (command === 'hook' && !rest.includes('--help') && !rest.includes('-h')) {
  const { runHookProcess } = await import('./hook-command/run.ts');
  await runHookProcess(rest, process.env);
} else if (['--version', '-v'].includes(command) && rest.length === 0) {
  const { version } = await import('./version.ts');
  process.stdout.on('error', () => undefined).write(`${version()}\n`); // the reader may be gone
} else {
  await import('./app/program.ts');
}

export {};
