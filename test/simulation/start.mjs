/** `npm run test:sim` */
import { runMain } from '../support/bundle.mjs';
import { simulatedModules } from './modules/plugin.mjs';

await runMain('test/simulation/main.ts', [simulatedModules]);
