/** The runner's public entry point. */
export type { CommandConfig } from './command.ts';
export { type RunResult, runRequestSchema } from './request.ts';
export { createRunner, type Runner, type RunnerOptions, type RunnerSettings } from './runner.ts';
