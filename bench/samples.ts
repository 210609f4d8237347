/** Samples several operations in turn, so that other load on the machine affects all of them alike. */

/** `index` counts from 0 in each round. */
export type Operation = (index: number) => Promise<unknown>;
export type Samples<Name extends string> = Readonly<Record<Name, number[]>>;

export type Sampling = { readonly rounds: number; readonly perRound: number; readonly warmUps: number };

/**
 * Takes `rounds` times `perRound` samples of each operation, in ms, after `warmUps` calls of each.
 * @param atTurn called before and after each turn of an operation
 */
export async function sampleInTurn<Name extends string>(
  operations: Readonly<Record<Name, Operation>>,
  { rounds, perRound, warmUps }: Sampling,
  atTurn: (name: Name, moment: 'before' | 'after') => Promise<void> | null = () => null,
): Promise<Samples<Name>> {
  const names = Object.keys(operations) as Name[];
  // Warm up in turn too: otherwise the first operations would start with less of their code compiled.
  for (let index = 0; index < warmUps; index += 1) for (const name of names) await operations[name](index);
  const took = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, number[]>;
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) {
      await atTurn(name, 'before');
      for (let index = 0; index < perRound; index += 1) {
        const startedMs = performance.now();
        await operations[name](index);
        took[name].push(performance.now() - startedMs);
      }
      await atTurn(name, 'after');
    }
  }
  return took;
}

export const atOnce = 64;

/** Makes `total` calls, 64 at a time. `index` counts from 0. */
export async function runAtOnce(total: number, operation: Operation): Promise<void> {
  let next = 0;
  const repeat = async () => {
    while (next < total) await operation(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, repeat));
}
