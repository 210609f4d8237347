/** Collects the licences of the packages in a bundle into one text. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** @param folders the folders of the packages */
export const licencesOf = (folders) =>
  [
    'This package contains the following software.',
    ...[...folders].sort().map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
      const text = file === undefined ? '' : `\n\n${readFileSync(join(folder, file), 'utf8').trim()}`;
      return `${name} ${version} (${license})${text}`;
    }),
  ].join(`\n\n${'-'.repeat(80)}\n\n`);
