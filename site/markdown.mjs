/**
 * What the pages of docs/ need besides Markdown. They are written for GitHub, so that everybody can read them there:
 * links lead to files of the repository, anchors are GitHub's, diagrams are blocks of mermaid, the comment in front of a block of code names its
 * source (scripts/write-snippets.mjs), and code before and after a migration follow one another.
 */
import { existsSync, statSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';

const root = join(import.meta.dirname, '..');
export const repository = 'https://github.com/nestjs-redis-lock/nestjs-redis-lock';

/** GitHub's anchor of a heading. test/unit/docs/links.spec.ts has the same rule. @param {string} heading */
export const slug = (heading) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/** Where the repository shows a file or a folder. @param {string} path from the root of the repository */
const onGitHub = (path) => {
  const file = join(root, path);
  return `${repository}/${existsSync(file) && statSync(file).isDirectory() ? 'tree' : 'blob'}/main/${path}`;
};

/**
 * The target of a link on the site: a page of docs/ there, any other file of the repository on GitHub.
 * @param {string} href as the page has it
 * @param {string} page its path from the root of the repository
 */
export function target(href, page) {
  const [, absolute] = href.match(`^${repository}/blob/main/(docs/.*)`) ?? [];
  if (absolute === undefined && /^(?:[a-z]+:|#)/.test(href)) return href;
  const [path = '', anchor] = (absolute ?? posix.join(posix.dirname(page), href)).split('#');
  if (!path.startsWith('docs/')) return onGitHub(path);
  const link = relative(dirname(page), path)
    .split(sep)
    .join('/')
    .replace(/(^|\/)README\.md$/, '$1index.md');
  return `${link.startsWith('.') ? link : `./${link}`}${anchor === undefined ? '' : `#${anchor}`}`;
}

/** @param {string} text */
const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

/** A paragraph of its own. @param {any[]} tokens @param {number} index @param {string} text */
const isLabel = (tokens, index, text) => tokens[index]?.type === 'paragraph_open' && tokens[index + 1].content === text;

/** @param {any} md markdown-it, as VitePress configures it */
export function repositoryMarkdown(md) {
  md.core.ruler.push('repository', (/** @type {any} */ state) => {
    // The path in the environment is that of the file, before README.md is renamed.
    const page = relative(root, state.env.path).split(sep).join('/');
    for (const { children } of state.tokens)
      for (const token of children ?? [])
        if (token.type === 'link_open') token.attrSet('href', target(token.attrGet('href'), page));
    state.tokens = state.tokens.filter((/** @type {any} */ token, /** @type {number} */ index) => {
      const source = token.type === 'html_block' && /^<!-- (\S+\.\w+)(?:#\S+)? -->\s*$/.exec(token.content)?.[1];
      const block = state.tokens[index + 1];
      if (!source || block?.type !== 'fence') return true;
      block.meta = { ...block.meta, source };
      return false;
    });
  });

  md.core.ruler.push('beside', (/** @type {any} */ state) => {
    for (let index = 0; index < state.tokens.length; index++) {
      const [before, oldCode, after, newCode] = [index, index + 3, index + 4, index + 7];
      if (!isLabel(state.tokens, before, '**Before:**') || state.tokens[oldCode]?.type !== 'fence') continue;
      if (!isLabel(state.tokens, after, '**After:**') || state.tokens[newCode]?.type !== 'fence') continue;
      const html = (/** @type {string} */ content) =>
        Object.assign(new state.Token('html_block', '', 0), { content: `${content}\n` });
      state.tokens.splice(newCode + 1, 0, html('</div></div>'));
      state.tokens.splice(after, 0, html('</div><div>'));
      state.tokens.splice(before, 0, html('<div class="beside"><div>'));
    }
  });

  // The start page shows the index as cards (Start.vue).
  md.core.ruler.push('start', (/** @type {any} */ state) => {
    if (state.env.relativePath !== 'index.md') return;
    state.tokens = state.tokens.slice(
      state.tokens.findIndex((/** @type {any} */ { type }) => type === 'heading_close') + 1,
      state.tokens.findIndex((/** @type {any} */ { tag }) => tag === 'h2'),
    );
  });

  const { fence } = md.renderer.rules;
  md.renderer.rules.fence = (/** @type {any} */ ...args) => {
    const [tokens, index] = args;
    const { info, content, meta } = tokens[index];
    if (info.trim() === 'mermaid') return `<Diagram text="${escape(encodeURIComponent(content))}" />\n`;
    const code = fence(...args);
    if (meta?.source === undefined) return code;
    const link = `<a href="${onGitHub(meta.source)}" target="_blank" rel="noreferrer">${meta.source}</a>`;
    return `<figure class="source"><figcaption>${link}</figcaption>${code}</figure>\n`;
  };
}
