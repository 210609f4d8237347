/** Searches this version's documentation, with the index that the site uses. */
import { readFile } from 'node:fs/promises';
import type MiniSearch from 'minisearch';
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import { packageFile } from '../../version.ts';
import { defineTool, type Tool } from './tool.ts';

/** A model reads the first few. */
const resultsMax = 5;
/** Most sections are shorter. The page has the rest. */
const textCharsMax = 2_000;
/** Longer than any question that finds something. */
const queryCharsMax = 300;

type Section = { readonly url: string; readonly page: string; readonly title: string; readonly text: string };
type SearchFile = { readonly options: ConstructorParameters<typeof MiniSearch>[0]; readonly sections: Section[] };

/** Reads the index at the first search: it takes a few megabytes that most services never need. */
function createDocsSearch(): (query: string) => Promise<Section[]> {
  let opened: Promise<MiniSearch> | null = null;
  const open = async () => {
    const text = await readFile(packageFile('dist/docs/search.json'), 'utf8').catch((cause: unknown) => {
      throw new AppError(
        'actor.unknown',
        'the documentation is not built; build it with "npm run docs", or read the files in docs/',
        { cause },
      );
    });
    const { options, sections } = JSON.parse(text) as SearchFile;
    const { default: Index } = await import('minisearch');
    const index = new Index(options);
    index.addAll(sections);
    return index;
  };
  return async (query) => {
    opened ??= open();
    const index = await opened.catch((error: unknown) => {
      opened = null;
      throw error;
    });
    const all = index.search(query);
    // A question in a sentence has words that no section has.
    const found = all.length > 0 ? all : index.search(query, { combineWith: 'OR' });
    return found.slice(0, resultsMax).map((hit) => {
      const { page, title, text } = hit as unknown as Section;
      return { url: String(hit.id), page, title, text };
    });
  };
}

const searchDocs = createDocsSearch();

const search = defineTool({
  name: 'docs_search',
  title: 'Search the documentation',
  description:
    'Finds sections of the documentation of stopgate: policies, checks, hooks, commands, configuration, errors. ' +
    'Use a few keywords, such as "budget dollars" or "remote check timeout".',
  input: { query: z.string().trim().min(1).max(queryCharsMax).describe('a few keywords') },
  output: {
    results: z.array(
      z.object({
        page: z.string(),
        title: z.string().describe('the section'),
        url: z.string().describe('below /docs/ of the service'),
        text: z.string(),
        isCut: z.boolean().describe('whether the page has more of this section'),
      }),
    ),
  },
  effect: 'reads',
  run: async (_context, { query }) => ({
    results: (await searchDocs(query)).map(({ page, title, url, text }) => ({
      page,
      title,
      url,
      text: text.trim().slice(0, textCharsMax),
      isCut: text.trim().length > textCharsMax,
    })),
  }),
});

export const docsTools: readonly Tool[] = [search];
