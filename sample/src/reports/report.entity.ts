import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The latest report of the whole fleet: one row. */
@Entity('ticket_sale_reports')
export class Report {
  @PrimaryColumn()
  id!: string;

  /** Tickets that were sold, of all events. */
  @Column('integer')
  orders!: number;

  /** How many reports there were. */
  @Column('integer')
  made!: number;

  /** The process that made it. */
  @Column('integer')
  pid!: number;

  /** The epoch of the leader that made it: the row refuses smaller ones. Postgres returns a bigint as text. */
  @Column('bigint', { transformer: { from: Number, to: (epoch: unknown) => epoch } })
  epoch!: number;
}
