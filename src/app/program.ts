/** Every command but `hook`: runs the command line and exits with its code. */
import { readEnvironment } from '../config/environment.ts';
import { processIo } from '../terminal/process-io.ts';
import { runCommandLine } from './services.ts';

process.exitCode = await runCommandLine(process.argv.slice(2), processIo(readEnvironment()));
// We have closed everything. A handle that a library left open (nats-core 3.4: its socket to a server that never
// answered) must not keep the process alive. The output is complete, since writes to pipes are synchronous.
setTimeout(() => process.exit(), 1_000).unref();
