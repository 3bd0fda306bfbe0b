import type { ExceptionFilter, OnModuleInit } from '@nestjs/common';
import type { HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { detachServer } from './detached-server.js';
import { FlowBoundaryInterceptor } from './flow-boundary.interceptor.js';
import { enhanceGateways, enhanceMessageControllers } from './entry-classes.js';

/** Each request is a flow of its own also where Nest's global interceptors do not come: the server itself, gateways, and messages of hybrid applications. */
export class TransportBoundary implements OnModuleInit {
  constructor(
    modules: ModulesContainer,
    private readonly host: HttpAdapterHost,
    filter: ExceptionFilter,
  ) {
    // Before Nest connects the gateways and microservices, which it does before any hook.
    const boundary = new FlowBoundaryInterceptor();
    enhanceGateways(modules, boundary, filter);
    enhanceMessageControllers(modules, boundary);
  }

  onModuleInit(): void {
    // In a test module the adapter comes after the providers.
    detachServer(this.host.httpAdapter as HttpAdapterHost['httpAdapter'] | undefined);
  }
}
