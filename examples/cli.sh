# #region look
export REDIS_URL=redis://127.0.0.1:6379            # in the environment: every user of a machine sees arguments
npx nestjs-redis-lock ls --contended               # the locks for which callers wait
npx nestjs-redis-lock inspect report:daily         # one lock: holders with their tokens, and the queue
npx nestjs-redis-lock tree                         # who waits for whom
npx nestjs-redis-lock doctor                       # what is wrong with the server
# #endregion
# #region release
token=$(npx nestjs-redis-lock inspect report:daily --json | jq '.holders[0].fencingToken')
npx nestjs-redis-lock release report:daily --token "$token" --reason 'hangs since 02:40' --yes
# #endregion
# #region run
npx nestjs-redis-lock run report:daily --wait 10s --max-hold 1h -- ./report.sh --date today
# #endregion
# #region cron
*/10 * * * *  npx nestjs-redis-lock run feeds --url-file /etc/locks.url --wait 0 --min-hold 9m -- ./import-feeds || [ $? = 75 ]
# #endregion
# #region tied
npx nestjs-redis-lock run report:daily -- setpriv --pdeathsig KILL -- ./report.sh --date today
# #endregion
