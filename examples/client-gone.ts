import type { ServerResponse } from 'node:http';
import { Controller, Get, HttpException, Param, Res } from '@nestjs/common';
import { DistributedLock } from 'nestjs-redis-lock';

// #region signal
/** Aborts when the response is over: the client hung up, or has its answer. */
function over(response: ServerResponse): AbortSignal {
  const end = new AbortController();
  // Nest answers an HttpException without a line in the log. No client reads this answer.
  response.once('close', () => end.abort(new HttpException('The client has gone', 499)));
  return end.signal;
}

@Controller('reports')
export class ReportsController {
  @Get(':id')
  @DistributedLock({ key: 'report:#{id}', signal: (_id: string, response: ServerResponse) => over(response) })
  async report(@Param('id') id: string, @Res({ passthrough: true }) _response: ServerResponse): Promise<string> {
    return `report ${id}`;
  }
}
// #endregion
