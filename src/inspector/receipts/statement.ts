/** The in-toto Statement of a receipt (docs/receipts.md), and the envelope that signs it (DSSE, Ed25519). */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '../../errors.ts';

export const statementType = 'https://in-toto.io/Statement/v1';
export const predicateType = 'urn:stopgate:receipt:v1';
const payloadType = 'application/vnd.in-toto+json';

const objectId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, 'is not the id of a git object');

/** The subject has two members, because commit and tree are two artifacts. */
export const statementSchema = z.object({
  _type: z.literal(statementType),
  subject: z.tuple([
    z.object({ name: z.literal('commit'), digest: z.object({ gitCommit: objectId }) }),
    z.object({ name: z.literal('tree'), digest: z.object({ gitTree: objectId }) }),
  ]),
  predicateType: z.literal(predicateType),
  predicate: z.object({
    fleet: z.string(),
    worker: z.string(),
    task: z.string().nullable().describe('the held task that was claimed last'),
    tasks: z.array(z.string()).describe('all held tasks'),
    decision: z.object({
      attempt: z.string(),
      at: z.string(),
      decision: z.literal('allow'),
      action: z.literal('complete'),
      cause: z.literal('complete'),
      reason: z.string(),
      retry: z.object({ count: z.number(), max: z.number().nullable() }),
    }),
    policy: z.object({
      name: z.string(),
      seq: z.number().describe('the policy.set entry'),
      digest: z.object({ sha256: z.string() }).describe('of `content` as JSON with sorted keys'),
      content: z.record(z.string(), z.unknown()).describe('the policy with all defaults filled in'),
    }),
    checks: z.array(
      z.object({ check: z.string(), kind: z.string(), outcome: z.string(), message: z.string().optional() }),
    ),
    log: z.object({
      stream: z.string(),
      attempt: z.number().describe('the entry of the attempt'),
      decided: z.number().describe('the entry whose fold made the decision'),
    }),
  }),
});
export type Statement = z.infer<typeof statementSchema>;

/** JSON with sorted keys, so that equal values have equal digests. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

export const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');

// --- the envelope ---------------------------------------------------------------------------------------------

const base64 = z.string().regex(/^[A-Za-z0-9+/_-]*={0,2}$/, 'is not base64');
const envelopeSchema = z.object({
  payloadType: z.string(),
  payload: base64,
  signatures: z.array(z.object({ keyid: z.string().optional(), sig: base64 })).min(1),
});
export type Envelope = z.infer<typeof envelopeSchema>;

/** The bytes that are signed: DSSE's pre-authentication encoding. */
const signedBytes = (type: string, payload: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `), payload]);

/** Reads an Ed25519 key from PEM. @throws AppError input.bad */
export function readKey(pem: string, use: 'private' | 'public'): KeyObject {
  const create = {
    private: 'openssl genpkey -algorithm ed25519 -out key.pem',
    public: 'openssl pkey -in key.pem -pubout',
  };
  let key: KeyObject;
  try {
    key = use === 'private' ? createPrivateKey(pem) : createPublicKey(pem);
  } catch (cause) {
    const message = `the key is not a ${use} key in PEM; "${create[use]}" makes one`;
    throw new AppError('input.bad', message, { cause });
  }
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw new AppError(
    'input.bad',
    `the key is of type ${key.asymmetricKeyType}, not ed25519; create one: ${create.private}`,
  );
}

/** The id that TUF and in-toto derive from a key. Some verifiers ignore signatures with any other id. */
function keyIdOf(key: KeyObject): string {
  const raw = createPublicKey(key).export({ type: 'spki', format: 'der' }).subarray(-ed25519KeyBytes);
  return sha256(canonicalJson({ keytype: 'ed25519', scheme: 'ed25519', keyval: { public: raw.toString('hex') } }));
}
const ed25519KeyBytes = 32;

/** @param key a private key */
export function signStatement(statement: Statement, key: KeyObject): Envelope {
  const payload = Buffer.from(JSON.stringify(statement));
  const sig = sign(null, signedBytes(payloadType, payload), key).toString('base64');
  return { payloadType, payload: payload.toString('base64'), signatures: [{ keyid: keyIdOf(key), sig }] };
}

/** `problem`: why the receipt does not hold. */
export type OpenedReceipt =
  | { readonly statement: Statement; readonly problem: null }
  | { readonly statement: null; readonly problem: string };

/** Returns the statement if one signature is by `key`. Nothing of an unsigned statement is believed. */
export function openReceipt(text: string, key: KeyObject): OpenedReceipt {
  const fault = (problem: string): OpenedReceipt => ({ statement: null, problem });
  const json = parseJson(text);
  if (statementSchema.safeParse(json).success) return fault('it is not signed');
  const envelope = envelopeSchema.safeParse(json);
  if (!envelope.success) return fault('it is not a DSSE envelope');
  const { payloadType: type, payload, signatures } = envelope.data;
  const bytes = Buffer.from(payload, 'base64');
  const isSigned = signatures.some(({ sig }) =>
    verify(null, signedBytes(type, bytes), key, Buffer.from(sig, 'base64')),
  );
  if (!isSigned) return fault('no signature in it is by this key');
  if (type !== payloadType) return fault(`it is signed, but its payload is '${type}', not an in-toto statement`);
  const statement = statementSchema.safeParse(parseJson(bytes.toString('utf8')));
  return statement.success
    ? { statement: statement.data, problem: null }
    : fault('it is signed, but it is no receipt of a complete decision of this version of stopgate');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
