#!/usr/bin/env node
/** What npm links as `stopgate`. In a clone that was not built it says so; without it the shell would find no command. */
import './require-node.js';

const main = new URL('../dist/src/main.js', import.meta.url);
await import(main.href).catch((error) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND' || error.url !== main.href) throw error;
  const folder = decodeURIComponent(new URL('..', import.meta.url).pathname);
  process.stderr.write(`stopgate: the clone in ${folder} is not built; run "npm ci && npm run build" there\n`);
  process.exitCode = 2;
});
