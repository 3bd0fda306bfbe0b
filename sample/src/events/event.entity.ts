import { Column, Entity, PrimaryColumn } from 'typeorm';

// A name of its own: with `synchronize` TypeORM would rewrite a table that somebody else called 'events'.
@Entity('ticket_sale_events')
export class Event {
  @PrimaryColumn()
  id!: string;

  /** Tickets that there are. */
  @Column('integer')
  capacity!: number;

  /** Tickets that are left: read, decremented in memory and written back by every purchase. */
  @Column('integer')
  left!: number;

  /** The highest fencing token that has come near this row; see EventsService. Postgres answers a bigint as text. */
  @Column('bigint', { default: 0, transformer: { from: Number, to: (token: unknown) => token } })
  fencingToken!: number;
}
