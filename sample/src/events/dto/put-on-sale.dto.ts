import { IsInt, Max, Min } from 'class-validator';

export class PutOnSaleDto {
  @IsInt()
  @Min(1)
  @Max(100_000)
  capacity!: number;
}
