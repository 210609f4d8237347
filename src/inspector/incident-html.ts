/**
 * One HTML file with a worker's whole history: the page itself, and the entries as inert data. It opens from a disk; its
 * policy forbids every request, and runs no script but the page's own.
 */
import { createHash } from 'node:crypto';
import { AppError } from '../errors.ts';
import { readBuilt } from './built-file.ts';
import type { IncidentFile } from './incident.ts';

/** @throws AppError config.bad: the page is not built */
export function incidentHtml(file: IncidentFile): string {
  const [script, style] = ['incident/incident.js', 'incident/incident.css'].map((name) => readBuilt(name)?.toString());
  if (script === undefined || style === undefined)
    throw new AppError('config.bad', 'the page for files is missing from the build: run "npm run build"');
  const inert = script.replaceAll('</script', '<\\/script');
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(inert)}'`,
    `style-src '${hashOf(style)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  // Whatever the entries hold, no tag can begin in them.
  const data = JSON.stringify(file).replaceAll('<', '\\u003c');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${file.worker} · stopgate</title>
<style>${style}</style>
</head>
<body>
<noscript>This file shows the history of a worker: it needs JavaScript.</noscript>
<div id="app"></div>
<script type="application/json" id="incident">${data}</script>
<script type="module">${inert}</script>
</body>
</html>
`;
}

const hashOf = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`;
