/** attest: prints the receipt of a complete decision, and verifies one. */
import { resolve } from 'node:path';
import type { TaskView, WorkerView } from '../../../../machines/index.ts';
import { AppError } from '../../../errors.ts';
import { findDecision, type ReceiptOf } from '../../../inspector/receipts/find-decision.ts';
import { createReceiptReader } from '../../../inspector/receipts/receipt.ts';
import {
  type OpenedReceipt,
  openReceipt,
  readKey,
  type Statement,
  signStatement,
} from '../../../inspector/receipts/statement.ts';
import type { Requester } from '../../../nats/requester.ts';
import { readRepositoryTree } from '../../../runner/git/judged-tree.ts';
import { clean } from '../../../terminal/text.ts';
import { getActor } from '../../actor-id.ts';
import { type Context, defineCommand, type Flags, option } from '../../command.ts';
import { explainUnknown, withRequester } from '../../connection.ts';
import { foldLog } from '../../fold-log.ts';
import { readText } from '../../input.ts';
import { clientArgs, idOf, readsLog, timeoutMsDefault } from '../../option-values.ts';

const args = {
  worker: option('W', 'the last decision of this worker', idOf('worker')),
  task: option('T', 'the decision that completed this task', idOf('task')),
  attempt: option('A', 'with --worker: the decision of this attempt', idOf('attempt')),
  key: option('FILE', 'an Ed25519 key in PEM: the private key that signs, or with --verify the public key'),
  verify: option('FILE', 'verify this receipt instead; "-" reads it from stdin'),
  repo: option('DIR', 'with --verify: the repository must be at the tree that was judged'),
  ...clientArgs,
} as const;
type AttestContext = Context<Flags<typeof args>>;

export const attest = defineCommand({
  args,
  details: [
    'Prints an in-toto statement that the work was judged complete: the git commit and tree that were judged, the policy, what each check found, and the position in the log. With --key it is signed (DSSE). There is no receipt for any other decision, or if the work tree was not exactly a commit.',
    'With --verify, no service is needed. It checks the signature and, with --repo, whether the repository is at that tree without any changes.',
    'Exit code 0: printed, or verified. 1: there is no such receipt, or it does not hold. 2: bad usage.',
    readsLog,
  ],
  examples: [
    'stopgate attest --worker w1 --key key.pem > receipt.json',
    'stopgate attest --task T-1',
    'stopgate attest --verify receipt.json --key key.pub --repo .',
  ],
  run: (context) => {
    const { verify, worker, task, attempt, repo, key } = context.flags;
    if (verify !== undefined) {
      if (worker !== undefined || task !== undefined || attempt !== undefined)
        throw new AppError('input.bad', '--verify checks a receipt file; omit --worker, --task and --attempt');
      if (key === undefined) throw new AppError('input.bad', '--verify needs the public key: --key FILE');
      return verifyReceipt(verify, key, context);
    }
    if (repo !== undefined) throw new AppError('input.bad', '--repo needs --verify');
    if ((worker === undefined) === (task === undefined))
      throw new AppError('input.bad', 'name either --worker or --task, or verify a receipt with --verify');
    if (task !== undefined && attempt !== undefined) throw new AppError('input.bad', '--attempt needs --worker');
    const wanted: ReceiptOf =
      task === undefined
        ? { entity: 'worker', id: worker as string, attempt: attempt ?? null }
        : { entity: 'task', id: task, attempt: null };
    return printReceipt(wanted, context);
  },
});

async function printReceipt(wanted: ReceiptOf, { flags, io, out, note }: AttestContext): Promise<number> {
  const key = flags.key === undefined ? null : readKey(await readText(flags.key, io), 'private');
  const statement = await withRequester(flags, io, async (requester, fleet) => {
    const { entity, id } = wanted;
    const view = await getActor<TaskView & WorkerView>(id, { requester, entity, fleet, note });
    return readStatement(requester, fleet, { ...wanted, id: view[entity] ?? id });
  });
  const receipt = key === null ? statement : signStatement(statement, key);
  if (flags.json) await out.json(receipt);
  else await out.print(JSON.stringify(receipt, null, 2));
  return 0;
}

async function readStatement(requester: Requester, fleet: string, wanted: ReceiptOf): Promise<Statement> {
  const get = <View>(entity: 'worker' | 'task', id: string) =>
    explainUnknown(requester.request('get', `${entity}.${id}`, {}, timeoutMsDefault), entity, fleet) as Promise<View>;
  const decision = await findDecision(
    {
      worker: (id) => get<WorkerView>('worker', id),
      task: (id) => get<TaskView>('task', id),
      decisions: (worker, count) => requester.readNewest(`decision.${worker}`, count),
    },
    wanted,
  );
  const seq = decision.seq ?? 0;
  const reader = createReceiptReader({ worker: decision.worker, attempt: decision.attempt ?? '', seq });
  const { startSeq } = await foldLog(requester, fleet, (folded, message) => {
    reader.fold(folded, message);
    return reader.isDecided();
  });
  if (startSeq >= seq)
    throw new AppError('input.bad', 'retention has removed the entries that the decision follows from');
  return reader.statement();
}

async function verifyReceipt(file: string, keyFile: string, { flags, io, out }: AttestContext): Promise<number> {
  const key = readKey(await readText(keyFile, io), 'public');
  const opened = openReceipt(await readText(file, io), key);
  const problem = opened.problem ?? (await findTreeProblem(opened, flags.repo, io));
  const { statement } = opened;
  if (flags.json) await out.json({ verified: problem === null, problem, statement });
  else await out.print(clean(problem === null ? describeReceipt(opened) : `does not hold: ${problem}`));
  return problem === null ? 0 : 1;
}

const treeIn = ({ subject: [, tree] }: Statement): string => tree.digest.gitTree;

function describeReceipt({ statement }: OpenedReceipt): string {
  if (statement === null) return '';
  const { worker, task, fleet, decision, policy, checks } = statement.predicate;
  const who = task === null ? worker : `${worker} with task ${task}`;
  const found = checks.map(({ check, outcome }) => `${check} ${outcome}`).join(', ');
  const by = `policy ${policy.name} (sha256 ${policy.digest.sha256.slice(0, 12)})`;
  return `holds: ${who} of fleet ${fleet} was judged complete at ${decision.at} by ${by}: ${found}; tree ${treeIn(statement)}`;
}

/** Returns why the repository is not at the tree of the receipt, or null if it is, or if no repository is given. */
async function findTreeProblem(
  { statement }: OpenedReceipt,
  repo: string | undefined,
  { cwd, env }: AttestContext['io'],
): Promise<string | null> {
  if (repo === undefined || statement === null) return null;
  const now = await readRepositoryTree(resolve(cwd, repo), env);
  if ('unknown' in now) return `the tree of '${repo}' is not that of a commit: ${now.unknown}`;
  if (now.tree === treeIn(statement)) return null;
  return `'${repo}' is at tree ${now.tree}, and tree ${treeIn(statement)} was judged`;
}
