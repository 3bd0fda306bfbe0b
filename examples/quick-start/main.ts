import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RedisLockModule } from 'nestjs-redis-lock';
import { Payments, StockController, StockService } from './stock.js';

@Module({
  imports: [RedisLockModule.forRoot({ redis: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' })],
  controllers: [StockController],
  providers: [StockService, Payments],
})
class AppModule {}

async function bootstrap() {
  const app = await NestFactory.create(AppModule);
  app.enableShutdownHooks(); // on SIGTERM running work ends, and its locks are released
  await app.listen(process.env.PORT ?? 3000);
}
void bootstrap();
