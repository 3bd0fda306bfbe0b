import { readFileSync } from 'node:fs';

/** The smallest ACL's rules as docs/guarantees.md gives them: what stands there is what is tested. */
export function documentedRules(): string[] {
  const text = readFileSync(new URL('../../docs/guarantees.md', import.meta.url), 'utf8');
  const command = /^ACL SETUSER locks on >secret resetkeys resetchannels (.+)$/m.exec(text)?.[1];
  if (command === undefined) throw new Error('docs/guarantees.md has no ACL SETUSER line');
  return command.split(' ');
}
