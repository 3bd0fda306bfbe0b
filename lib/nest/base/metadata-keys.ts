/**
 * What Nest and its packages write on classes and methods. None of these keys is public, and the packages are optional, so they are not
 * imported. The package check runs them against each supported version.
 */
export const metadataKeys = {
  /** `@UseInterceptors`. */
  interceptors: '__interceptors__',
  /** `@UseFilters`. */
  filters: '__exceptionFilters__',
  /** `@Catch`: the types of errors, none for all. */
  caughtErrors: '__filterCatchExceptions__',
  /** `@Res`, `@Next` and the other parameters of a route handler. */
  routeArguments: '__routeArguments__',
  /** `@Res({ passthrough: true })`. */
  responsePassthrough: '__responsePassthrough__',
  /** `@WebSocketGateway`, on the class. */
  gateway: 'websockets:is_gateway',
  /** `@MessagePattern` and `@EventPattern`. */
  messagePattern: 'microservices:pattern',
  messageHandlerType: 'microservices:handler_type',
  /** `@Cron`, `@Interval` and `@Timeout` of @nestjs/schedule. */
  scheduledJob: 'SCHEDULER_TYPE',
  /** `@Interval` and `@Cron`: when they run. */
  intervalOptions: 'SCHEDULE_INTERVAL_OPTIONS',
  cronOptions: 'SCHEDULE_CRON_OPTIONS',
  /** `@OnEvent` of @nestjs/event-emitter. */
  eventListener: 'EVENT_LISTENER_METADATA',
  /** `@OnWorkerEvent` and `@OnQueueEvent` of @nestjs/bullmq. */
  workerListener: 'bullmq:worker_events_metadata',
  queueListener: 'bullmq:queue_events_metadata',
  /** `@Processor` of @nestjs/bullmq, on the class: its method `process` is called. */
  processor: 'bullmq:processor_metadata',
  /** `@Get` and the others: the path of a route handler. */
  routePath: 'path',
  /** `@ApiExcludeController` of @nestjs/swagger. */
  excludedFromOpenApi: 'swagger/apiExcludeController',
} as const;
