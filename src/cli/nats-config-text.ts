/** A NATS configuration as a person would write it: short values on one line, quotes only where they are needed. */

type Value = string | number | boolean | readonly Value[] | { readonly [key: string]: Value };

const columns = 110;

/** The lines of an object's members, without its braces. */
export function formatNatsConfig(members: object, indent = ''): string[] {
  return Object.entries(members as Record<string, Value>).flatMap(([key, value]) => {
    const name = /^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key);
    return [`${indent}${name}: ${formatValue(value, indent, name.length + 2)}`];
  });
}

function formatValue(value: Value, indent: string, taken = 0): string {
  if (typeof value !== 'object') return JSON.stringify(value);
  const short = formatShort(value);
  if (indent.length + taken + short.length <= columns) return short;
  const deeper = `${indent}  `;
  if (!Array.isArray(value)) return `{\n${formatNatsConfig(value, deeper).join('\n')}\n${indent}}`;
  const items = value.map((item: Value) => `${deeper}${formatValue(item, deeper)}`);
  return `[\n${items.join('\n')}\n${indent}]`;
}

function formatShort(value: Value): string {
  if (typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(formatShort).join(', ')}]`;
  const members = Object.entries(value).map(([key, each]) => {
    const name = /^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key);
    return `${name}: ${formatShort(each as Value)}`;
  });
  return `{ ${members.join(', ')} }`;
}
