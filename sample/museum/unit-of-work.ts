import type Database from 'libsql';

/** Collects the writes of a request, as an ORM does. It stands still before a commit where an exhibit has a breakpoint. */
export class UnitOfWork {
  private writes: string[] = [];

  constructor(
    private readonly database: Database.Database,
    private readonly beforeCommit: () => Promise<void>,
  ) {}

  write(...sql: string[]): void {
    this.writes.push(...sql);
  }

  async commit(): Promise<void> {
    await this.beforeCommit();
    this.database.exec(['BEGIN IMMEDIATE', ...this.writes.splice(0), 'COMMIT'].join(';'));
  }
}

/** As many projects have it: all writes of the method are one transaction, which commits at its end. */
export function Transactional() {
  return (_target: object, _name: string, descriptor: PropertyDescriptor): void => {
    const method = descriptor.value as () => Promise<void>;
    descriptor.value = async function (this: UnitOfWork) {
      await method.call(this);
      await this.commit();
    };
  };
}
