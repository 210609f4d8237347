/** `npm run test:sim` */
import { runMain } from '../support/bundle.mjs';

await runMain('test/simulation/main.ts');
