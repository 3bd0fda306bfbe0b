// #region sdk
// telemetry.ts, loaded first: node --import ./telemetry.js main.js
import { NodeSDK } from '@opentelemetry/sdk-node';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { RedisLockInstrumentation } from 'nestjs-redis-lock/otel';

const locks = new RedisLockInstrumentation({ blockedBy: true });
const sdk = new NodeSDK({ serviceName: 'shop', instrumentations: [new HttpInstrumentation(), locks] });
sdk.start();
// #endregion

export { locks, sdk };
