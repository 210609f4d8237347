/** Describes the contents of a package as a CycloneDX document. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @param root the folder of package-lock.json
 * @param folders the folders of the bundled packages
 */
export function sbomOf(root, folders, { name, version }) {
  // vite sets NODE_ENV to production, which would make npm omit the packages of the pages.
  const args = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx', '--include', 'dev'];
  const text = execFileSync('npm', args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 64 * 1024 * 1024,
  });
  const { components, dependencies: _, metadata, ...document } = JSON.parse(text);
  const found = [...folders].sort().map((folder) => {
    const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const component = components.find((other) => other.name === about.name && other.version === about.version);
    if (component === undefined)
      throw new Error(`${about.name} ${about.version} is not in package-lock.json: run "npm ci"`);
    // All of them are part of the program, also those that the repository lists as development dependencies.
    const { properties: _properties, ...rest } = component;
    return { ...rest, scope: 'required' };
  });
  const component = { 'bom-ref': `${name}@${version}`, type: 'application', name, version };
  const sbom = { ...document, metadata: { ...metadata, component }, components: found };
  return `${JSON.stringify(sbom, null, 2)}\n`;
}
