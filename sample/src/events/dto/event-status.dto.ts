export interface EventStatusDto {
  id: string;
  capacity: number;
  /** What the stock says is left … */
  left: number;
  /** … and therefore sold. */
  sold: number;
  /** Orders in the database: people with a ticket. More than `capacity` means oversold. */
  orders: number;
}
