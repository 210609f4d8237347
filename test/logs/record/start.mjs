/** `npm run fold:histories` */
import { runMain } from '../../support/bundle.mjs';

await runMain('test/logs/record/main.ts');
