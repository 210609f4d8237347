#!/usr/bin/env node
/** `stopgate hook` as a separate program, which starts a few milliseconds faster. */
import { runHookProcess } from './run.ts';

await runHookProcess(process.argv.slice(2), process.env);
