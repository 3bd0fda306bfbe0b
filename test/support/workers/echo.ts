/** Answers each message with itself: what test/integration/support.spec.ts forks. */
process.on('message', (message) => process.send?.({ echo: message, redis: process.env['REDIS_URL'] }));
