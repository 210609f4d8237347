/** How a command declares its arguments, and what `run` gets for them. */

type Described = { readonly description: string; readonly valueHint?: string };
/** `completions`: the words that a shell offers for it. */
export type Positional = Described & {
  readonly type: 'positional';
  readonly required?: boolean;
  readonly completions?: readonly string[];
};
export type Option = Described &
  (
    | { readonly type: 'boolean' }
    /** A string. If its hint ends in `…`, it may be repeated, and the value is all of them, joined by commas. */
    | { readonly type: 'string' }
    | { readonly type: 'enum'; readonly options: readonly string[] }
  );
export type Argument = Positional | Option;
/** The arguments by name; positionals in their order. */
export type Arguments = Readonly<Record<string, Argument>>;

/** The values of a command's arguments: a boolean is false where it is not given. */
export type Flags<Args extends Arguments = Arguments> = { readonly [Name in keyof Args]: Flag<Args[Name]> };
type Flag<Arg extends Argument> = Arg extends { type: 'boolean' }
  ? boolean
  : Arg extends { type: 'positional'; required: false }
    ? string | undefined
    : Arg extends { type: 'positional' }
      ? string
      : Arg extends { type: 'enum'; options: readonly (infer Value)[] }
        ? Value | undefined
        : string | undefined;

export const optionsOf = (args: Arguments): (readonly [string, Option])[] =>
  Object.entries(args).filter((entry): entry is [string, Option] => entry[1].type !== 'positional');
export const positionalsOf = (args: Arguments): (readonly [string, Positional])[] =>
  Object.entries(args).filter((entry): entry is [string, Positional] => entry[1].type === 'positional');
export const isRequired = ({ required = true }: Positional): boolean => required;
