/** Seeds fast-check with STOPGATE_TEST_SEED. On a failure, fast-check prints the seed and the path. */
import fc from 'fast-check';
import { readEnvironment } from '../../src/config/environment.ts';

fc.configureGlobal({ seed: Number(readEnvironment().STOPGATE_TEST_SEED) | 0 });
