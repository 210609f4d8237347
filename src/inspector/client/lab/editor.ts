/**
 * The policy editor: CodeMirror with the schema of stopgate.yaml. It lives in a shadow root, where CodeMirror uses
 * adopted style sheets, because the content security policy allows no `<style>`.
 */

import { $defs, properties } from 'stopgate:schema';
import { autocompletion, closeBrackets, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { unifiedMergeView } from '@codemirror/merge';
import { Compartment, EditorState } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { Issue } from '../data/api.ts';
import { completeFrom } from './completion.ts';

export type Editor = {
  setText(text: string): void;
  /** Marks the problems at their lines. An empty list removes the marks. */
  showProblems(issues: readonly Issue[]): void;
  /** Marks differences from `original`. Null removes the marks. */
  showDifference(original: string | null): void;
  /** Moves the cursor. Line and column are 1-based. */
  goTo(line: number, column: number): void;
  close(): void;
};
type Options = { readonly text: string; readonly label: string; readonly onChange: (text: string) => void };

/** Replaces text itself, because Chromium writes `style` attributes when it replaces text or inserts several lines. */
function replaceText(event: InputEvent, view: EditorView): boolean {
  const { inputType, data, isComposing } = event;
  // The view's own selection is updated too late.
  const selection = (view.root as Document).getSelection?.();
  if (inputType !== 'insertText' || data === null || isComposing || !selection?.anchorNode || !selection.focusNode)
    return false;
  const ends = [
    view.posAtDOM(selection.anchorNode, selection.anchorOffset),
    view.posAtDOM(selection.focusNode, selection.focusOffset),
  ];
  const [from, to] = [Math.min(...ends), Math.max(...ends)];
  if (from === to && !data.includes('\n')) return false;
  event.preventDefault();
  const insert = view.state.toText(data);
  const replace = () =>
    view.state.update({
      changes: { from, to, insert },
      selection: { anchor: from + insert.length },
      scrollIntoView: true,
      userEvent: 'input.type',
    });
  // Input handlers may act instead: a typed bracket encloses the selection.
  const isHandled = view.state.facet(EditorView.inputHandler).some((handler) => handler(view, from, to, data, replace));
  if (!isHandled) view.dispatch(replace());
  return true;
}

export function openEditor(host: HTMLElement, { text, label, onChange }: Options): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const difference = new Compartment();
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        drawSelection(),
        indentOnInput(),
        closeBrackets(),
        highlightActiveLine(),
        yaml(),
        syntaxHighlighting(highlighting),
        theme,
        difference.of([]),
        autocompletion({ override: [completeFrom({ properties, $defs })] }),
        // No Tab binding, so that Tab leaves the editor as everywhere on the page.
        keymap.of([...completionKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap]),
        EditorView.domEventHandlers({ beforeinput: replaceText }),
        // Otherwise Chromium writes `style` attributes into typed text, which the content security policy forbids.
        EditorView.contentAttributes.of({
          'aria-label': label,
          spellcheck: 'false',
          contenteditable: 'plaintext-only',
        }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    setText(next) {
      if (next !== view.state.doc.toString())
        view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
    },
    showProblems: (issues) =>
      view.dispatch(
        setDiagnostics(
          view.state,
          issues.map((issue) => toDiagnostic(view.state, issue)),
        ),
      ),
    showDifference(original) {
      const shown = original === null ? [] : unifiedMergeView({ original, mergeControls: false, gutter: true });
      view.dispatch({ effects: difference.reconfigure(shown) });
    },
    goTo(line, column) {
      const anchor = offsetOf(view.state, line, column);
      view.dispatch({ selection: { anchor }, scrollIntoView: true });
      view.focus();
    },
    close: () => view.destroy(),
  };
}

function offsetOf({ doc }: EditorState, line: number, column: number): number {
  const { from, to } = doc.line(Math.max(1, Math.min(line, doc.lines)));
  return Math.min(from + column - 1, to);
}

/** The service reports only where a problem begins, so underline the word there. */
function toDiagnostic(state: EditorState, { line = 1, column = 1, message }: Issue): Diagnostic {
  const from = offsetOf(state, line, column);
  const word = state.wordAt(from);
  return { from, to: word?.to ?? Math.min(from + 1, state.doc.length), severity: 'error', message };
}

const highlighting = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.string, tags.content, tags.literal], color: 'var(--fg)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: 'var(--state-validating)' },
  { tag: tags.comment, color: 'var(--muted)', fontStyle: 'italic' },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: 'var(--muted)' },
]);

const theme = EditorView.theme({
  '&': { color: 'var(--fg)', backgroundColor: 'var(--bg)', border: '1px solid var(--line)', borderRadius: '6px' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-scroller': { font: 'var(--text-s) / 1.6 var(--mono)', height: 'var(--editor-height)', overflow: 'auto' },
  '.cm-content, .cm-gutter': { minHeight: '100%' },
  '.cm-content': { caretColor: 'var(--fg)', padding: '8px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--fg)' },
  '.cm-gutters': { backgroundColor: 'var(--soft)', color: 'var(--muted)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--accent) 7%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 30%, transparent)',
  },
  '.cm-tooltip': {
    backgroundColor: 'var(--raised)',
    color: 'var(--fg)',
    border: '1px solid var(--line)',
    maxWidth: '440px',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent)',
    color: 'var(--on-accent)',
  },
  '.cm-completionInfo': { padding: '6px 8px' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
  // The content security policy forbids `data:` images.
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad)' },
  '.cm-lint-marker-error': { content: 'normal', color: 'var(--bad)' },
  '.cm-lint-marker-error::before': { content: '"●"' },
  '.cm-changedLine': { backgroundColor: 'color-mix(in srgb, var(--better) 14%, transparent) !important' },
  '.cm-changedText': { background: 'color-mix(in srgb, var(--better) 26%, transparent) !important' },
  '.cm-deletedChunk': { backgroundColor: 'color-mix(in srgb, var(--bad) 14%, transparent)' },
  '.cm-deletedChunk .cm-deletedText': { background: 'color-mix(in srgb, var(--bad) 26%, transparent)' },
  '.cm-deletedChunk *, .cm-changedText *': { color: 'var(--fg) !important' },
  '.cm-changedLineGutter': { background: 'var(--better)' },
  '.cm-deletedLineGutter': { background: 'var(--bad)' },
});
