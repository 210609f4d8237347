/** Import this first in a test program: it puts the nats-server that `stopgate dev` would start first on PATH. */
import { readEnvironment } from '../../src/config/environment.ts';
import { preferCurrentServer } from './nats-path.ts';

await preferCurrentServer(readEnvironment() as NodeJS.ProcessEnv);
