import { Column, Entity, PrimaryColumn } from 'typeorm';

// A name of its own: with `synchronize` TypeORM would rewrite another application's table 'events'.
@Entity('ticket_sale_events')
export class Event {
  @PrimaryColumn()
  id!: string;

  /** All tickets. */
  @Column('integer')
  capacity!: number;

  /** Tickets that are left: read, decremented in memory and written back by every purchase. */
  @Column('integer')
  left!: number;

  /** The highest fencing token that this row has seen; see EventsService. Postgres returns a bigint as text. */
  @Column('bigint', { default: 0, transformer: { from: Number, to: (token: unknown) => token } })
  fencingToken!: number;
}
