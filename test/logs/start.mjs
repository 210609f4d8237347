/** `npm run fold:baseline` */
import { runMain } from '../support/bundle.mjs';

await runMain('test/logs/main.ts');
