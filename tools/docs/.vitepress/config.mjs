// SPDX-License-Identifier: Apache-2.0
// The site of `make docs`: the project's pages as they are, with a search. What a page is about, and where it is in the
// index, docs/README.md says; nothing of it is repeated here.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withMermaid } from 'vitepress-plugin-mermaid'

const root = join(dirname(fileURLToPath(import.meta.url)), '../../..')

// Files that are no pages are shown where the repository is, if its address is given.
const repository = process.env.DOCS_REPOSITORY

// The index: its links, under its headings.
function sidebar() {
  const groups = []
  for (const line of readFileSync(join(root, 'docs/README.md'), 'utf8').split('\n')) {
    const item = line.match(/^- \[(.+)\]\((.+)\)$/)
    if (line.startsWith('## ')) {
      groups.push({ text: line.slice(3), items: [], collapsed: false })
    } else if (item) {
      groups.at(-1).items.push({ text: item[1], link: '/' + join('docs', item[2]).replace(/(README)?\.md$/, '') })
    }
  }
  return groups
}

// Links to files that are no pages lead to the repository, and words in angle brackets are no elements.
function adapt(md) {
  md.renderer.rules.html_inline = (tokens, i) =>
    /^<br ?\/?>$/.test(tokens[i].content) ? tokens[i].content : md.utils.escapeHtml(tokens[i].content)
  const open = md.renderer.rules.link_open
  md.renderer.rules.link_open = (tokens, i, options, env, self) => {
    const href = decodeURI(tokens[i].attrGet('href'))
    const file = relative(root, join(root, dirname(env.relativePath), href.split('#')[0]))
    if (repository && !/^([a-z]+:|#)|\.md(#|$)/.test(href) && existsSync(join(root, file))) {
      tokens[i].attrSet('href', `${repository}/blob/main/${file}`)
    }
    return open(tokens, i, options, env, self)
  }
}

export default withMermaid({
  title: 'Jutsu',
  description: 'Operators for Dojos and for Discord',
  srcDir: root,
  outDir: join(root, 'out/site'),
  cacheDir: join(root, 'out/site-cache'),
  srcExclude: ['bin/**', 'out/**', '.*/**', '**/testdata/**', '**/charts/**'],
  rewrites: (page) => page.replace(/README\.md$/, 'index.md'),
  base: process.env.DOCS_BASE ?? '/',
  ignoreDeadLinks: true, // TestLinksOfThePages follows them
  // Pages are outside of this folder, and compiled to modules that import vue.
  vite: { resolve: { alias: [{ find: /^vue(?=$|\/)/, replacement: join(root, 'tools/docs/node_modules/vue') }] } },
  markdown: { config: adapt },
  themeConfig: {
    nav: [{ text: 'Where do I find what?', link: '/docs/' }],
    sidebar: sidebar(),
    outline: 'deep',
    search: { provider: 'local' },
    ...(repository && { socialLinks: [{ icon: 'github', link: repository }] }),
  },
})
