/**
 * `npm run docs`: builds the documentation site in dist/docs from the Markdown in docs/, README.md, CONTRIBUTING.md and
 * CHANGELOG.md. The output is static: the service serves it under /docs, and any web server can.
 *
 * For each page it writes NAME.html and NAME.md. It also writes llms.txt (an index for language models), llms-full.txt
 * (all pages in one file, from which the service serves NAME.md, since packages have no other) and search.json (the
 * sections, and how to index them: for search.js in the browser and for the MCP tool `docs_search`).
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, resolve } from 'node:path';
import { Marked } from 'marked';

const root = resolve(import.meta.dirname, '..');
const out = join(root, 'dist/docs');
const assets = join(import.meta.dirname, 'docs');

/** Pages by their path in the repository: the target on the site, the Markdown and the title. */
const pages = new Map(
  ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', 'AGENTS.md', ...markdownIn('docs')].map((path) => {
    const markdown = readFileSync(join(root, path), 'utf8');
    const title = /^# (.+)$/m.exec(markdown)?.[1] ?? path;
    return [path, { path, name: siteNameOf(path), markdown, title: title.replaceAll('`', '') }];
  }),
);
const groups = readGroups(pages.get('docs/README.md').markdown);

rmSync(out, { recursive: true, force: true });
const sections = [];
for (const page of pages.values()) {
  const html = renderPage(page);
  write(`${page.name}.html`, html);
  page.siteMarkdown = page.markdown.replaceAll(
    /\]\(([^)\s]+)\)/g,
    (_, href) => `](${hrefOf(href, page, 'md') ?? href})`,
  );
  write(`${page.name}.md`, page.siteMarkdown);
}
/** MiniSearch is created with these, here and by the readers of the index. */
const options = {
  idField: 'url',
  fields: ['title', 'page', 'text'],
  storeFields: ['title', 'page', 'text'],
  searchOptions: { boost: { title: 4, page: 2 }, prefix: true, fuzzy: 0.2, combineWith: 'AND' },
};
write('search.json', JSON.stringify({ options, sections }));
write('llms.txt', llmsIndex());
write(
  'llms-full.txt',
  [...pages.values()].map(({ name, siteMarkdown }) => `<!-- ${name}.md -->\n\n${siteMarkdown}`).join('\n'),
);
cpSync(join(assets, 'docs.css'), join(out, 'docs.css'));
write(
  'search.js',
  readFileSync(join(assets, 'search.js'), 'utf8').replace("from 'minisearch'", "from './minisearch.js'"),
);
cpSync(join(root, 'node_modules/minisearch/dist/es/index.js'), join(out, 'minisearch.js'));
cpSync(join(root, 'LICENSE'), join(out, 'LICENSE'));
for (const folder of ['pictures', 'examples'])
  cpSync(join(root, 'docs', folder), join(out, folder), { recursive: true });
process.stdout.write(`${pages.size} pages in dist/docs\n`);

function markdownIn(folder) {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => posix.join(folder, name.replaceAll('\\', '/')))
    .filter((path) => path.endsWith('.md'))
    .sort();
}

/** docs/README.md becomes index, README.md becomes start, docs/a/README.md becomes a/index. */
function siteNameOf(path) {
  if (path === 'README.md') return 'start';
  if (path === 'SECURITY.md') return 'report-a-vulnerability';
  if (path === 'AGENTS.md') return 'contributing-agents';
  const name = path.replace(/^docs\//, '').replace(/\.md$/, '');
  return name === name.toUpperCase() ? name.toLowerCase().replace('readme', 'index') : name.replace(/README$/, 'index');
}

/** The navigation: each table of docs/README.md is a group, titled by its first header cell. */
function readGroups(markdown) {
  const groups = [];
  for (const line of markdown.split('\n')) {
    const header = /^\| ([^|[\]-][^|]*) \|/.exec(line)?.[1];
    if (header !== undefined && !line.includes('](')) groups.push({ title: header.trim(), paths: [] });
    for (const [, target] of line.startsWith('|') ? line.matchAll(/\]\(([^)#]+\.md)\)/g) : [])
      groups.at(-1)?.paths.push(posix.join('docs', target));
  }
  return groups.map(({ title, paths }) => ({ title, paths: [...new Set(paths)].filter((path) => pages.has(path)) }));
}

function renderPage(page) {
  const slugs = new Map();
  const headings = [];
  let section = { id: '', title: page.title, text: '' };
  const close = () => {
    if (section.text.trim() !== '')
      sections.push({
        url: `${page.name}.html${section.id && `#${section.id}`}`,
        page: page.title,
        ...section,
        id: undefined,
      });
  };
  const marked = new Marked({
    gfm: true,
    walkTokens(token) {
      if (token.type === 'heading') {
        close();
        const title = plainText(token.tokens);
        section = { id: token.depth === 1 ? '' : slugOf(title, slugs), title, text: '' };
        token.slug = section.id;
        if (token.depth === 2) headings.push({ id: section.id, title });
      } else if (token.type === 'text' && token.tokens === undefined) section.text += `${token.text} `;
      else if (token.type === 'codespan' || token.type === 'code') section.text += `${token.text} `;
      if (token.type === 'link' || token.type === 'image') token.href = hrefOf(token.href, page);
      if (token.type === 'html') token.text = token.text.replaceAll(/(src|srcset)="docs\//g, `$1="${up(page)}`);
    },
    renderer: {
      heading({ tokens, depth, slug }) {
        const id = slug === '' ? '' : ` id="${slug}"`;
        return `<h${depth}${id}>${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      table(token) {
        const html = Object.getPrototypeOf(this).table.call(this, token);
        return `<div class="table">${html}</div>`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        return href === null ? text : `<a href="${escapeHtml(href)}">${text}</a>`;
      },
    },
  });
  const body = marked.parse(page.markdown.replaceAll(/^<!-- not run: .* -->\n/gm, ''));
  close();
  const template = readFileSync(join(assets, 'page.html'), 'utf8');
  const values = {
    title: escapeHtml(page.title),
    up: up(page),
    nav: navigation(page),
    contents: contents(headings),
    body,
    markdown: `${posix.basename(page.name)}.md`,
  };
  return template.replaceAll(/\{\{(\w+)\}\}/g, (_, name) => values[name]);
}

/** The relative path from a page to the root of the site. */
function up({ name }) {
  return '../'.repeat(name.split('/').length - 1);
}

/** Points a link between pages to the files on the site. Returns null if the file is not there, such as a source. */
function hrefOf(href, page, extension = 'html') {
  if (/^[a-z]+:|^#/.test(href)) return href;
  const [target, hash = ''] = href.split('#');
  const path = posix.join(dirname(page.path), target);
  const linked = pages.get(path) ?? pages.get(posix.join(path, 'README.md'));
  const suffix = hash === '' ? '' : `#${hash}`;
  if (linked !== undefined) return `${up(page)}${linked.name}.${extension}${suffix}`;
  if (path === 'LICENSE') return `${up(page)}LICENSE`;
  return /^docs\/(pictures|examples)\/.*\.\w+$/.test(path) ? `${up(page)}${path.slice('docs/'.length)}` : null;
}

function navigation(page) {
  const link = (path) => {
    const { name, title } = pages.get(path);
    return `<li><a href="${up(page)}${name}.html"${path === page.path ? ' aria-current="page"' : ''}>${escapeHtml(title)}</a></li>`;
  };
  const isOpen = (path) => page.path.startsWith(`${path.replace(/(\/README)?\.md$/, '')}/`);
  const withChildren = (path) => {
    const folder = path.replace(/(\/README)?\.md$/, '');
    const children = [...pages.keys()].filter(
      (other) => other !== path && dirname(other) === folder && folder !== 'docs',
    );
    const isCurrent = path === page.path || isOpen(path);
    return children.length > 0 && isCurrent ? `${link(path)}<ul>${children.map(link).join('')}</ul>` : link(path);
  };
  const start = `<ul>${link('README.md')}${link('docs/README.md')}</ul>`;
  return (
    start +
    groups
      .map(({ title, paths }) => `<h2>${escapeHtml(title)}</h2><ul>${paths.map(withChildren).join('')}</ul>`)
      .join('')
  );
}

function contents(headings) {
  if (headings.length < 3) return '';
  return `<ul>${headings.map(({ id, title }) => `<li><a href="#${id}">${escapeHtml(title)}</a></li>`).join('')}</ul>`;
}

function llmsIndex() {
  const line = (path) => {
    const { name, title, markdown } = pages.get(path);
    const paragraph = new Marked().lexer(markdown).find(({ type }) => type === 'paragraph');
    const text = paragraph === undefined ? '' : plainText(paragraph.tokens).replaceAll('\n', ' ');
    return `- [${title}](${name}.md): ${/^.*?[.:](?= |$)/.exec(text)?.[0] ?? text}`;
  };
  const listed = new Set(groups.flatMap(({ paths }) => paths));
  const others = [...pages.keys()].filter((path) => !listed.has(path));
  const sections = [...groups, { title: 'Optional', paths: others }];
  return [
    '# stopgate',
    '',
    '> Decides whether a coding agent may stop, and explains why.',
    '',
    'All pages in one file: [llms-full.txt](llms-full.txt)',
    ...sections.flatMap(({ title, paths }) => ['', `## ${title}`, '', ...paths.map(line)]),
    '',
  ].join('\n');
}

function plainText(tokens) {
  return tokens.map((token) => (token.tokens === undefined ? (token.text ?? '') : plainText(token.tokens))).join('');
}

/** The anchor that GitHub gives a heading. */
function slugOf(title, slugs) {
  const base = title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
  const count = slugs.get(base) ?? 0;
  slugs.set(base, count + 1);
  return count === 0 ? base : `${base}-${count}`;
}

function escapeHtml(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function write(name, text) {
  const path = join(out, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
