#!/usr/bin/env node
/** The process. Agents wait for `stopgate hook` at every tool call, so it loads nothing of what the rest needs. */
const [, , command = '', ...rest] = process.argv;
if (command === 'hook' && !rest.includes('--help') && !rest.includes('-h')) {
  const { runHookProcess } = await import('./hook-command/run.ts');
  await runHookProcess(rest, process.env);
} else if (['--version', '-v'].includes(command) && rest.length === 0) {
  const { version } = await import('./version.ts');
  process.stdout.on('error', () => undefined).write(`${version()}\n`); // somebody may have stopped reading
} else {
  await import('./app/program.ts');
}

export {};
