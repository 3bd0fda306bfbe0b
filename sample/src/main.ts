import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { readSettings } from './settings.js';

const settings = readSettings(process.env);
const app = await NestFactory.create(AppModule.forRoot(settings));
// On SIGTERM running purchases end, held locks are given back, connections are closed.
app.enableShutdownHooks();
await app.listen(settings.port, '127.0.0.1');

// Started by another process (the demo): tell it where we serve, and do not outlive it.
process.send?.({ url: await app.getUrl() });
process.once('disconnect', () => void app.close());
