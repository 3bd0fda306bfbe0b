import { readFileSync } from 'node:fs';

const text = (): string => readFileSync(new URL('../../docs/operate/production.md', import.meta.url), 'utf8');

/** The smallest ACL's rules as docs/operate/production.md gives them: what stands there is what is tested. */
export function documentedRules(): string[] {
  const command = /^ACL SETUSER locks on >secret resetkeys resetchannels (.+)$/m.exec(text())?.[1];
  if (command === undefined) throw new Error('docs/operate/production.md has no ACL SETUSER line');
  return command.split(' ');
}

/** What a cluster also needs. */
export function clusterRules(): string[] {
  const rules = /^- A cluster also needs `(.+?)`/m.exec(text())?.[1];
  if (rules === undefined) throw new Error('docs/operate/production.md does not say what a cluster also needs');
  return rules.split(' ');
}

/** The rules of a user that only looks, as docs/reference/cli.md gives them. */
export function readerRules(): string[] {
  const page = readFileSync(new URL('../../docs/reference/cli.md', import.meta.url), 'utf8');
  const command = /^ACL SETUSER watcher on >secret resetkeys resetchannels (.+)$/m.exec(page)?.[1];
  if (command === undefined) throw new Error('docs/reference/cli.md has no ACL SETUSER line');
  return command.split(' ');
}
