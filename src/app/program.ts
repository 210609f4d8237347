/** Everything but the command hook: hands the command line what it needs, and exits with its code. */
import { runCli } from '../cli/cli.ts';
import { readEnvironment } from '../config/environment.ts';
import { processIo } from '../process-io.ts';
import { createServices } from './services.ts';

process.exitCode = await runCli(process.argv.slice(2), processIo(readEnvironment()), createServices());
// All that is ours is closed. What a library left open (nats-core 3.4 its socket to a server that never spoke) must not
// keep the process; whoever reads its output is done by then, since pipes are written to at once.
setTimeout(() => process.exit(), 1_000).unref();
