import { Column, CreateDateColumn, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

/** One sold ticket. */
@Entity('ticket_sale_orders')
export class Order {
  @PrimaryGeneratedColumn('uuid')
  id!: string;

  @Index()
  @Column()
  eventId!: string;

  @Column()
  buyer!: string;

  @CreateDateColumn()
  createdAt!: Date;
}
