/** doctor */
import { defineCommand } from '../command.ts';
export const doctor = defineCommand({ args: {}, examples: ['stopgate doctor'], run: async () => 0 });
