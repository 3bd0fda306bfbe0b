import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { repository, repositoryMarkdown, slug } from '../markdown.mjs';
import { address, decisions, docs, sections } from '../pages.mjs';

const title = 'nestjs-redis-lock';
const description = 'A distributed lock for NestJS on Redis: one decorator, fencing tokens, and honest guarantees.';
const icon = `data:image/svg+xml,${encodeURIComponent(
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#4f6bed" stroke-width="2.4" stroke-linecap="round"><rect x="4" y="10.5" width="16" height="10.5" rx="3"/><path d="M8 10.5V7.5a4 4 0 0 1 8 0v3"/></svg>`,
)}`;
const index = sections();

/** The console's colours: the project has one face. The site has a switch for dark, where the console goes by the system. */
function colours() {
  const css = readFileSync(join(docs, '..', 'lib', 'console', 'page', 'app.css'), 'utf8');
  const [light, dark] = [...css.matchAll(/:root \{(.*?)\}/gs)].map(([, rules]) => rules);
  return `:root {${light}}\n.dark {${dark}}`;
}

const item = ({ title, path }) => ({ text: title, link: address(path) });

const sidebar = index.map(({ title, groups }) => ({
  text: title,
  collapsed: false,
  items: groups.flatMap(({ title, pages }) => {
    const items = pages.map(item);
    for (const entry of items)
      if (entry.link === '/inside/adr/') Object.assign(entry, { collapsed: true, items: decisions().map(item) });
    return title === '' ? items : [{ text: title, collapsed: true, items }];
  }),
}));

export default defineConfig({
  title,
  description,
  lang: 'en',
  srcDir: docs,
  outDir: '../dist/site',
  cacheDir: '../dist/.site',
  base: process.env.DOCS_BASE ?? '/',
  rewrites: { 'README.md': 'index.md', 'inside/adr/README.md': 'inside/adr/index.md' },
  head: [
    ['meta', { name: 'color-scheme', content: 'light dark' }],
    ['link', { rel: 'icon', href: icon }],
  ],
  markdown: { anchor: { slugify: slug }, config: repositoryMarkdown },
  vue: { template: { compilerOptions: { isCustomElement: (tag) => tag.startsWith('lock-') } } },
  vite: {
    plugins: [
      {
        name: 'colours',
        resolveId: (id) => (id === 'virtual:colours.css' ? '\0virtual:colours.css' : undefined),
        load: (id) => (id === '\0virtual:colours.css' ? colours() : undefined),
      },
      {
        // The simulator runs the engine with the file of browsers (docs/inside/adr/0087-one-file-for-node.md).
        name: 'platform-of-the-lab',
        enforce: 'pre',
        resolveId: (id, importer) =>
          id.endsWith('/platform.js') && importer?.startsWith(join(docs, '..', 'lib'))
            ? join(docs, '..', 'site', 'lab', 'platform.ts')
            : undefined,
      },
      {
        // The pages stand outside of this folder, and import Vue.
        name: 'vue-of-the-site',
        enforce: 'pre',
        resolveId(id, importer) {
          return /^vue(\/|$)/.test(id) && importer?.startsWith(docs)
            ? this.resolve(id, import.meta.filename)
            : undefined;
        },
      },
    ],
    server: { fs: { allow: ['../..'] } },
  },
  transformPageData: (page) => {
    if (page.relativePath === 'index.md') page.frontmatter = { layout: 'Start', sidebar: false };
    // Two blocks of code beside each other need the place of the outline.
    if (page.relativePath.startsWith('migration/'))
      Object.assign(page.frontmatter, { aside: false, pageClass: 'wide' });
  },
  themeConfig: {
    sections: index.map(({ title, groups }) => ({
      title,
      groups: groups
        .filter(({ pages }) => pages.length > 0)
        .map(({ title, pages }) => ({
          title,
          pages: pages.map((page) => ({ ...item(page), about: page.about.replaceAll('`', '') })),
        })),
    })),
    sidebar,
    // The others stand in the sidebar; all of them are too wide for a tablet.
    nav: index
      .filter(({ title }) => ['How to', 'Concepts', 'Operate', 'Reference'].includes(title))
      .map(({ title, groups: [first, second] }) => {
        const { path } = first.pages[0] ?? second.pages[0];
        return { text: title, link: address(path), activeMatch: `^/${path.split('/')[0]}/` };
      }),
    outline: [2, 3],
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: repository }],
    editLink: { pattern: `${repository}/blob/main/docs/:path`, text: 'This page on GitHub' },
  },
  buildEnd: ({ outDir }) => {
    // For programs that read: the index, and each page as it was written.
    for (const page of readdirSync(docs, { recursive: true }).filter((file) => file.endsWith('.md')))
      cpSync(join(docs, page), join(outDir, page));
    const lines = index.flatMap(({ title, groups }) => [
      `\n## ${title}\n`,
      ...groups.flatMap(({ pages }) => pages.map(({ title, path, about }) => `- [${title}](${path}): ${about}`)),
    ]);
    writeFileSync(join(outDir, 'llms.txt'), `# ${title}\n\n> ${description}\n${lines.join('\n')}\n`);
  },
});
