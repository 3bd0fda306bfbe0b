/** Comments, strings, words and numbers of TypeScript, as far as a slide needs it. */
const token = /(\/\/.*|\/\*.*?\*\/)|('[^']*'|`[^`]*`|"[^"]*")|\b(\d[\d_]*)\b|(@?[A-Za-z_$][\w$]*)/g;
const keywords = new Set(
  'as async await break class const else finally for function if import let new return this throw true try typeof void while'.split(
    ' ',
  ),
);

/** @param {string} text @param {string} kind */
function piece(text, kind) {
  const element = document.createElement('span');
  element.className = kind;
  element.textContent = text;
  return element;
}

/** @param {string} line */
function* piecesOf(line) {
  let at = 0;
  for (const match of line.matchAll(token)) {
    const [text, comment, string, number, word] = match;
    const isKeyword = word !== undefined && keywords.has(word);
    const kind = comment
      ? 'comment'
      : string
        ? 'string'
        : number
          ? 'number'
          : isKeyword || word?.startsWith('@')
            ? 'keyword'
            : line[match.index + text.length] === '('
              ? 'call'
              : '';
    if (kind === '') continue;
    yield line.slice(at, match.index);
    yield piece(text, kind);
    at = match.index + text.length;
  }
  yield line.slice(at);
}

/**
 * Shows code, each line in an element of its own.
 * @param {HTMLElement} element
 * @param {string} code
 */
export function showCode(element, code) {
  if (element.dataset['code'] === code) return;
  element.dataset['code'] = code;
  element.replaceChildren(
    ...code.split('\n').map((line) => {
      const row = document.createElement('span');
      row.className = 'code-line';
      row.append(...piecesOf(line), '\n');
      return row;
    }),
  );
}

/**
 * Marks the first line that has the text.
 * @param {HTMLElement} element
 * @param {string | undefined} text
 * @param {string} mood
 */
export function markLine(element, text, mood) {
  const lines = /** @type {HTMLElement[]} */ ([...element.children]);
  const marked = text === undefined ? undefined : lines.find(({ textContent }) => textContent?.includes(text));
  for (const line of lines) line.dataset['mark'] = line === marked ? mood || 'now' : '';
}
