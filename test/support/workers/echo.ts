/** Sends each message back. test/integration/support.spec.ts forks it. */
process.on('message', (message) => process.send?.({ echo: message, redis: process.env['REDIS_URL'] }));
