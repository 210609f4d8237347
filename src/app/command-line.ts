/**
 * The command line with what it needs to run a service: for the program, and for tests that run it in their own
 * process.
 */
import { runCli } from '../cli/cli.ts';
import type { Io } from '../terminal/process-io.ts';
import { createServices } from './services.ts';

/** @returns the exit code, as `runCli` */
export const runCommandLine = (argv: readonly string[], io: Io): Promise<number> => runCli(argv, io, createServices());
