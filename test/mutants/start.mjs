/** `npm run test:mutants` */
import { runMain } from '../support/bundle.mjs';

await runMain('test/mutants/main.ts');
