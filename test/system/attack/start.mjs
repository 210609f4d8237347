/** `npm run test:attack` */
import { runMain } from '../../support/bundle.mjs';

await runMain('test/system/attack/main.ts');
