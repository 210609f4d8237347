#!/usr/bin/env node
/** `stopgate hook` by itself, to save the last milliseconds: `node …/dist/src/hook-command/main.js claude`. */
import { runHookProcess } from './run.ts';

await runHookProcess(process.argv.slice(2), process.env);
