// #region metrics
import { Controller, Get, Header, type OnApplicationShutdown } from '@nestjs/common';
import { registerLockMetrics } from 'nestjs-redis-lock/prometheus';
import { Registry } from 'prom-client';

@Controller('metrics')
export class MetricsController implements OnApplicationShutdown {
  private readonly registry = new Registry();
  private readonly end = registerLockMetrics({ registry: this.registry, blockedBy: true });

  @Get()
  @Header('content-type', Registry.PROMETHEUS_CONTENT_TYPE)
  scrape(): Promise<string> {
    return this.registry.metrics();
  }

  onApplicationShutdown(): void {
    this.end();
  }
}
// #endregion
