/** `npm run test:faults` */
import { runMain } from '../../support/bundle.mjs';

await runMain('test/system/faults/main.ts');
