import 'reflect-metadata';
import { type ApplicationConfig, BaseExceptionFilter } from '@nestjs/core';
import type { LockFinding } from '../../diagnostics/lock-finding.js';
import { LockError } from '../../errors/lock-errors.js';
import { metadataKeys } from '../base/metadata-keys.js';
import { applicationFindings } from './doctor.messages.js';

/**
 * A filter that reads one of these, or leaves the error to Nest, may send the right status. A call of `status()` sets the response's
 * status.
 */
const readsStatus = /LockError|\.statusCode\b|\.status\b(?!\s*\()|super\.catch/;

/**
 * Global filters that run before LockErrorFilter, take all errors, and read no status but that of an HttpException. They send 500 where
 * LockErrorFilter would give them an HttpException with 409 or 503. Nest runs only the filters of a request before it.
 */
export function findCatchAll(config: ApplicationConfig): LockFinding[] {
  const types = config.getGlobalRequestFilters().map(({ metatype }) => metatype);
  return [...new Set<FilterType | null>(types)]
    .filter((type) => type !== null)
    .filter((type) => takesAll(type) && !mayAnswerStatus(type))
    .map(({ name }) => applicationFindings.catchAll(name));
}

interface FilterType {
  readonly name: string;
  readonly prototype: object;
}

/** True for a filter that takes lock errors and others. A filter for lock errors only is intended. */
function takesAll(type: FilterType): boolean {
  const caught = (Reflect.getMetadata(metadataKeys.caughtErrors, type) ?? []) as unknown[];
  if (caught.length === 0) return true;
  return caught.some((error) => typeof error === 'function' && error !== LockError && isBaseOfLockErrors(error));
}

const isBaseOfLockErrors = (type: object): boolean =>
  'prototype' in type && Object.prototype.isPrototypeOf.call(type.prototype as object, LockError.prototype);

/** Judged by the source of the class that has the method. */
function mayAnswerStatus(type: FilterType): boolean {
  let holder: object | null = type.prototype;
  while (holder && !Object.hasOwn(holder, 'catch')) holder = Object.getPrototypeOf(holder) as object | null;
  if (!holder || holder === BaseExceptionFilter.prototype) return true;
  return readsStatus.test(Function.prototype.toString.call(holder.constructor));
}
