import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** 0 where the system does not say it. */
  readonly session: number;
  /** Of this process and no other one with the same number. */
  readonly startedAt: string;
  /** It has ended, and its parent has not collected it. */
  readonly isDead: boolean;
}

/** The processes of this machine, or of this container, at about one moment; none where they cannot be read. Also for an `exit` handler. */
export function processTable(platform: NodeJS.Platform = process.platform): ProcessEntry[] {
  try {
    return platform === 'linux' ? ofProc() : ofPs();
  } catch {
    return [];
  }
}

function ofProc(): ProcessEntry[] {
  const found: ProcessEntry[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    let stat: string;
    try {
      stat = readFileSync(`/proc/${name}/stat`, 'utf8');
    } catch {
      // It has ended.
      continue;
    }
    // The name of the program, in front of it, may have any characters.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, parent, group, session] = fields as [string, string, string, string];
    found.push({
      pid: Number(name),
      parent: Number(parent),
      group: Number(group),
      session: Number(session),
      startedAt: fields[19]!,
      // A program whose first thread has ended works on in the others.
      isDead: /[ZX]/.test(state) && fields[17] === '1',
    });
  }
  return found;
}

/** macOS does not tell the session of a process. */
function ofPs(): ProcessEntry[] {
  const args = ['-A', '-o', 'pid=', '-o', 'ppid=', '-o', 'pgid=', '-o', 'stat=', '-o', 'lstart='];
  const lines = execFileSync('ps', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  return [...lines.matchAll(/^ *(\d+) +(\d+) +(\d+) +(\S+) +(.+)$/gm)].map(([, pid, parent, group, stat, start]) => ({
    pid: Number(pid),
    parent: Number(parent),
    group: Number(group),
    session: 0,
    startedAt: start!.trim(),
    isDead: stat!.startsWith('Z'),
  }));
}
