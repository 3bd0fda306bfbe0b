import { IsOptional, IsString, Length } from 'class-validator';

export class BuyTicketDto {
  @IsOptional()
  @IsString()
  @Length(1, 100)
  buyer?: string;
}
