// Searches the sections of all pages in the browser. The build replaces the import with the file beside this one. The
// index is built when the field gets the focus.
import MiniSearch from 'minisearch';

const { root } = document.querySelector('script[data-root]').dataset;
const field = document.getElementById('search');
const list = document.getElementById('results');
let loading = null;

async function load() {
  const response = await fetch(`${root}search.json`);
  if (!response.ok) throw new Error(`search.json: ${response.status}`);
  const { options, sections } = await response.json();
  const index = new MiniSearch(options);
  index.addAll(sections);
  return index;
}

async function show() {
  const query = field.value.trim();
  list.hidden = query === '';
  if (query === '') return;
  loading ??= load();
  try {
    const index = await loading;
    if (query !== field.value.trim()) return;
    const hits = index.search(query).slice(0, 12);
    list.replaceChildren(...(hits.length === 0 ? [line('No matches.')] : hits.map((hit) => row(hit, query))));
  } catch (error) {
    loading = null;
    list.replaceChildren(line(`Search is not available: ${error.message}`));
  }
}

function row({ id, title, page, text }, query) {
  const link = document.createElement('a');
  link.href = root + id;
  link.textContent = title === page ? title : `${page}: ${title}`;
  const word = query.split(/\s+/)[0].toLowerCase();
  const start = Math.max(0, text.toLowerCase().indexOf(word) - 40);
  const excerpt = document.createElement('small');
  excerpt.textContent = text.slice(start, start + 140);
  link.append(excerpt);
  const item = document.createElement('li');
  item.append(link);
  return item;
}

function line(text) {
  const item = document.createElement('li');
  item.textContent = text;
  return item;
}

field.addEventListener('focus', () => {
  loading ??= load().catch(() => null);
});
field.addEventListener('input', show);
document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof HTMLInputElement;
  if (event.key === '/' && !isTyping) {
    event.preventDefault();
    field.focus();
  }
  if (event.key === 'Escape') {
    list.hidden = true;
    field.blur();
  }
  const links = [...list.querySelectorAll('a')];
  if (list.hidden || links.length === 0 || !['ArrowDown', 'ArrowUp', 'Enter'].includes(event.key)) return;
  const current = links.indexOf(document.activeElement);
  if (event.key === 'Enter') {
    if (isTyping) links[0].click();
    return;
  }
  event.preventDefault();
  const next = current + (event.key === 'ArrowDown' ? 1 : -1);
  if (next < 0) field.focus();
  else links[Math.min(next, links.length - 1)].focus();
});
document.addEventListener('click', (event) => {
  if (!list.contains(event.target) && event.target !== field) list.hidden = true;
});
