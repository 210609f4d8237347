/** All tools, by name, in the order in which they are listed. */
import { workerTools } from './actors.ts';
import { checkpointTools } from './checkpoints.ts';
import { decisionTools } from './decisions.ts';
import { docsTools } from './docs.ts';
import { hookTools } from './hooks.ts';
import { iterationTools } from './iterations.ts';
import { operatorTools } from './operator.ts';
import { taskTools } from './tasks.ts';
import type { Tool } from './tool.ts';

const all: readonly Tool[] = [
  ...hookTools,
  ...iterationTools,
  ...checkpointTools,
  ...decisionTools,
  ...workerTools,
  ...taskTools,
  ...docsTools,
  ...operatorTools,
];

/** Returns the tools that a caller may use. */
export const toolsFor = (isOperator: boolean): readonly Tool[] =>
  all.filter((tool) => isOperator || !tool.forOperators);

export const tools: ReadonlyMap<string, Tool> = new Map(all.map((tool) => [tool.name, tool]));
