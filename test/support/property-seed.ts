/** Random properties make the choices of STOPGATE_TEST_SEED as well; what fast-check prints on a failure also has their path. */
import fc from 'fast-check';
import { readEnvironment } from '../../src/config/environment.ts';

fc.configureGlobal({ seed: Number(readEnvironment().STOPGATE_TEST_SEED) | 0 });
