/** A signed receipt, as in-toto's own libraries for Python and Go verify it. Takes Python, Go and their registries. */
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { type Follower, openFollower } from './follow-page.ts';

const policies = { default: { checks: [{ git: { clean: true } }] } };
let at: Deployment;
let reader: Follower;
let commit: string;

beforeAll(async () => {
  at = await deploy({ config: JSON.stringify({ policies }) });
  reader = await openFollower();
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  await at.folder.write('key.pem', privateKey.export({ type: 'pkcs8', format: 'pem' }) as string);
  await at.folder.write('key.pub', publicKey.export({ type: 'spki', format: 'pem' }) as string);
  const git = 'git -c user.name=a -c user.email=a@example.com';
  await at.folder.write('work/a.txt', 'a\n');
  const cwd = `${at.folder.path}/work`;
  await reader.type(`cd ${cwd} && ${git} init -q && ${git} add . && ${git} commit -qm first`);
  commit = (await reader.type(`git -C ${cwd} rev-parse HEAD`)).trim();
  await at.client.publish('worker.w1.worker.registered', { cwd });
  expect((await at.client.ask('decide.w1', {})).body).toMatchObject({ cause: 'complete' });
  const args = ['attest', '--worker', 'w1', '--key', 'key.pem', '--nats', at.server.url];
  const { stdout } = await runCommand(args, { cwd: at.folder.path });
  const envelope = JSON.parse(stdout);
  const forged = Buffer.from(envelope.payload, 'base64').toString().replace('"w1"', '"w2"');
  await at.folder.write('receipt.json', stdout);
  await at.folder.write(
    'forged.json',
    JSON.stringify({ ...envelope, payload: Buffer.from(forged).toString('base64') }),
  );
});
afterAll(async () => {
  await reader.close();
  await at.close();
});

/** Installs packages, or skips the test if the registry cannot be reached. */
async function install(line: string, context: TestContext): Promise<void> {
  const failed = await reader.type(line).then(
    () => null,
    (error: Error) => error.message,
  );
  if (failed !== null && /connection|resolve|timed? ?out|unreachable|No matching distribution|dial tcp/i.test(failed))
    context.skip(`the registry cannot be reached: ${failed.slice(0, 300)}`);
  expect(failed).toBeNull();
}

const python = `
import json, sys
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from google.protobuf import json_format
from in_toto_attestation.v1 import statement, statement_pb2
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

envelope = Envelope.from_dict(json.load(open(sys.argv[1])))
key = SSlibKey.from_crypto(load_pem_public_key(open("key.pub", "rb").read()))
print("signed by", len(envelope.verify([key], 1)))
parsed = json_format.Parse(envelope.payload, statement_pb2.Statement())
statement.Statement.copy_from_pb(parsed).validate()
print("about", parsed.subject[0].digest["gitCommit"])
`;

test('securesystemslib and in-toto-attestation (Python)', async (context) => {
  const packages = `'securesystemslib[crypto]==1.6.0' 'in-toto-attestation==0.9.3'`;
  await install(`python3 -m venv .venv && .venv/bin/pip install --quiet ${packages}`, context);
  await at.folder.write('verify.py', python);
  const verify = (file: string) =>
    reader.type(`cd ${at.folder.path} && ${reader.folder}/.venv/bin/python verify.py ${file}`);
  expect(await verify('receipt.json')).toBe(`signed by 1\nabout ${commit}\n`);
  await expect(verify('forged.json')).rejects.toThrow('Accepted signatures do not match threshold');
});

const go = `package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/secure-systems-lab/go-securesystemslib/signerverifier"
)

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	check(err)
	var envelope dsse.Envelope
	check(json.Unmarshal(text, &envelope))
	public, err := os.ReadFile("key.pub")
	check(err)
	key, err := signerverifier.LoadKey(public)
	check(err)
	// Ids are hints, and this library derives them in another way than TUF does.
	key.KeyID = envelope.Signatures[0].KeyID
	verifier, err := signerverifier.NewED25519SignerVerifierFromSSLibKey(key)
	check(err)
	all, err := dsse.NewEnvelopeVerifier(verifier)
	check(err)
	accepted, err := all.Verify(context.Background(), &envelope)
	check(err)
	fmt.Println("signed by", len(accepted))
}
`;

test('go-securesystemslib/dsse (Go)', async (context) => {
  await at.folder.write('verify/main.go', go);
  await at.folder.write(
    'verify/go.mod',
    'module verify\n\ngo 1.21\n\nrequire github.com/secure-systems-lab/go-securesystemslib v0.9.1\n',
  );
  const cd = `cd ${at.folder.path}`;
  await install(`${cd}/verify && go mod tidy`, context);
  await reader.type(`${cd}/verify && go build -o ../verifier .`);
  expect(await reader.type(`${cd} && ./verifier receipt.json`)).toBe('signed by 1\n');
  await expect(reader.type(`${cd} && ./verifier forged.json`)).rejects.toThrow(/ended with 1/);
});
