/** Test certificates, created with openssl. */
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { makeFolder } from './deployment.ts';

export const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

/** Creates `ca.pem`, and signs pairs for 127.0.0.1: `<name>.crt`, `<name>.key`. */
export async function makeAuthority(...names: string[]) {
  const folder = await makeFolder({ ext: 'subjectAltName=IP:127.0.0.1,DNS:localhost\n' });
  onTestFinished(() => folder.remove());
  const openssl = (line: string) => execFileSync('openssl', line.split(' '), { cwd: folder.path, stdio: 'pipe' });
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes';
  openssl(`req -x509 ${key} -keyout ca.key -out ca.pem -subj /CN=stopgate-test-authority -days 2`);
  for (const name of names) {
    openssl(`req ${key} -keyout ${name}.key -out ${name}.csr -subj /CN=${name}`);
    openssl(`x509 -req -in ${name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out ${name}.crt -days 2 -extfile ext`);
  }
  return (name: string) => join(folder.path, name);
}
