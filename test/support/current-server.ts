/** Imported first by a program of the tests: from then on its PATH begins with the nats-server that `stopgate dev` would start. */
import { readEnvironment } from '../../src/config/environment.ts';
import { preferCurrentServer } from './nats-path.ts';

await preferCurrentServer(readEnvironment() as NodeJS.ProcessEnv);
