// #region console
import { type CanActivate, type ExecutionContext, Inject, Injectable, UnauthorizedException } from '@nestjs/common';
import { LockConsoleModule } from 'nestjs-redis-lock/console';

interface OpsRequest {
  readonly headers: { readonly authorization?: string };
  /** Set by the guard. */
  user?: string;
}

/** Asks the browser for a name and the password, with Basic authentication. An application has its own way to sign in. */
@Injectable()
export class OpsGuard implements CanActivate {
  constructor(@Inject('OPS_PASSWORD') private readonly password: string) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<OpsRequest>();
    const [, given = ''] = /^Basic (.+)$/.exec(request.headers.authorization ?? '') ?? [];
    const [user = '', ...password] = Buffer.from(given, 'base64').toString().split(':');
    if (user !== '' && password.join(':') === this.password) {
      request.user = user;
      return true;
    }
    const response = context.switchToHttp().getResponse<{ setHeader(name: string, value: string): void }>();
    response.setHeader('www-authenticate', 'Basic realm="Locks"');
    throw new UnauthorizedException();
  }
}
// #endregion

/** @param password what operators enter */
export const lockConsole = (password: string) =>
  // #region mount
  LockConsoleModule.forRoot({
    path: 'locks',
    guards: [OpsGuard],
    imports: [
      { module: OpsModule, providers: [{ provide: 'OPS_PASSWORD', useValue: password }], exports: ['OPS_PASSWORD'] },
    ],
    forceRelease: { guards: [OpsGuard], actor: (request: OpsRequest) => request.user ?? '' },
  });
// #endregion

class OpsModule {}
