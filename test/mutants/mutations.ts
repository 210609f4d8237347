/** Finds the places of a source where one small change makes another program: what a test of that place should notice. */
import ts from '@typescript/typescript6';

/** One change of a file: the text from `start` to `end` becomes `text`. Lines and columns count from 1. */
export type Mutation = {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** What is done, such as `< becomes <=`. */
  readonly what: string;
};

/** The place of a mutation, as `--at` takes it. */
export const placeOf = ({ file, line, column }: Mutation): string => `${file}:${line}:${column}`;

/** Each has a neighbour that is often meant instead of it. */
const swaps: ReadonlyMap<ts.SyntaxKind, string> = new Map([
  [ts.SyntaxKind.LessThanToken, '<='],
  [ts.SyntaxKind.LessThanEqualsToken, '<'],
  [ts.SyntaxKind.GreaterThanToken, '>='],
  [ts.SyntaxKind.GreaterThanEqualsToken, '>'],
  [ts.SyntaxKind.EqualsEqualsEqualsToken, '!=='],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken, '==='],
  [ts.SyntaxKind.AmpersandAmpersandToken, '||'],
  [ts.SyntaxKind.BarBarToken, '&&'],
  [ts.SyntaxKind.MinusToken, '+'],
  [ts.SyntaxKind.PlusEqualsToken, '-='],
  [ts.SyntaxKind.MinusEqualsToken, '+='],
]);

/** Lists every mutation of a source, in its order. */
export function findMutations(file: string, source: string): Mutation[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const found: Mutation[] = [];
  const put = (node: ts.Node, text: string, what: string) => {
    const start = node.getStart(tree);
    const { line, character } = tree.getLineAndCharacterOfPosition(start);
    found.push({ file, line: line + 1, column: character + 1, start, end: node.end, text, what });
  };
  const negate = (condition: ts.Expression) =>
    put(condition, `!(${condition.getText(tree)})`, 'the condition is negated');
  const visit = (node: ts.Node): void => {
    // Types are gone when the program runs, and imports decide nothing.
    if (ts.isTypeNode(node) || ts.isTypeAliasDeclaration(node) || ts.isInterfaceDeclaration(node)) return;
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    if (ts.isBinaryExpression(node)) {
      const swap = swaps.get(node.operatorToken.kind);
      if (swap !== undefined) put(node.operatorToken, swap, `${node.operatorToken.getText(tree)} becomes ${swap}`);
    }
    if (ts.isIfStatement(node) || ts.isWhileStatement(node)) negate(node.expression);
    if (ts.isConditionalExpression(node)) negate(node.condition);
    if (node.kind === ts.SyntaxKind.TrueKeyword) put(node, 'false', 'true becomes false');
    if (node.kind === ts.SyntaxKind.FalseKeyword) put(node, 'true', 'false becomes true');
    if (isRemovable(node)) put(node, '{}', 'the statement is removed');
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}

/** Whether the program is still one without it. Directives and calls of `super` must stay. */
function isRemovable(node: ts.Node): boolean {
  if (ts.isContinueStatement(node)) return true;
  // The last statement of a function may be its result: without it the function is not shorter but another.
  if (ts.isReturnStatement(node)) return ts.isIfStatement(node.parent) || node.expression === undefined;
  if (!ts.isExpressionStatement(node) || ts.isStringLiteral(node.expression)) return false;
  return !(ts.isCallExpression(node.expression) && node.expression.expression.kind === ts.SyntaxKind.SuperKeyword);
}

/** The source with the mutation. */
export const mutate = (source: string, { start, end, text }: Mutation): string =>
  source.slice(0, start) + text + source.slice(end);

/** The lines that the mutation changes, as a difference is written. */
export function describeChange(source: string, mutation: Mutation): string[] {
  const from = source.lastIndexOf('\n', mutation.start - 1) + 1;
  const found = source.indexOf('\n', mutation.end);
  const to = found < 0 ? source.length : found;
  const before = source.slice(from, to);
  const after = mutate(source, mutation).slice(from, to + mutation.text.length - (mutation.end - mutation.start));
  const shown = (sign: string, text: string) =>
    text
      .split('\n')
      .slice(0, shownLinesMax)
      .map((line) => `${sign} ${line}`);
  return [...shown('-', before), ...shown('+', after)];
}

/** More of a removed statement says nothing that its first lines do not. */
const shownLinesMax = 4;
