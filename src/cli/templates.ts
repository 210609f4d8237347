/** Policies to start from: the files of templates/, which docs/templates.md shows. */
import { readFileSync } from 'node:fs';
import { casesFile } from '../config/case-schema.ts';
import { packageFile } from '../version.ts';

/** When an agent may stop, by the name of the template. Shown in the help and when a template is written. */
export const templates = {
  tests: 'the tests pass',
  plan: "every step of the agent's plan is done",
  'ralph-loop': 'every step of PLAN.md is done, in a loop of turns with fresh context',
  'worker-queue': 'its tasks are done and its queue stays empty',
  review: 'a second model approves the changes',
  research: 'a report with sources is written',
} as const;

export type TemplateName = keyof typeof templates;
export const templateNames = Object.keys(templates) as TemplateName[];

export const rulesFile = 'stopgate.yaml';

/** The command that `tests` of a template runs until the project's own is known. */
const exampleTests = 'tests: { run: [npm, test],';

/** @param testCommand the project's own, or null to keep the example */
export function readRules(name: TemplateName, testCommand: readonly string[] | null): string {
  const text = readTemplate(name, rulesFile);
  return testCommand === null ? text : text.replace(exampleTests, `tests: { run: ${JSON.stringify(testCommand)},`);
}

/** Returns all files of a template, by name. */
export function readTemplateFiles(name: TemplateName, testCommand: readonly string[] | null): Map<string, string> {
  const files = new Map([
    [rulesFile, readRules(name, testCommand)],
    [casesFile, readTemplate(name, casesFile)],
  ]);
  // The program that the policy runs. The package has it among the files of the documentation.
  if (name === 'review')
    files.set('judge-cli.mjs', readFileSync(packageFile('dist/docs/examples/judge-cli.mjs'), 'utf8'));
  return files;
}

const readTemplate = (name: TemplateName, file: string): string =>
  readFileSync(packageFile(`templates/${name}/${file}`), 'utf8');
