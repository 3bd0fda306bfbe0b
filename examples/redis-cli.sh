# #region exclusive
redis-cli GET 'lock:{product:42}'                     # <claim> <token> <expiry ms> <full|provisional|kept> v1
redis-cli ZRANGE 'lock:{product:42}:1:queue' 0 -1     # the waiting claims, in order
redis-cli HGETALL 'lock:{product:42}:1:waiters'       # claim, <alive until ms> <asked at ms> <asks at ms> <lease ms> <reserve> <listening|polling> <place>
redis-cli GET 'lock:token-register'                   # the largest token issued or reserved
redis-cli PUBSUB CHANNELS 'lock:1:client:*'           # clients that have waited at least once and are still connected
# #endregion
# #region shared
redis-cli ZRANGE 'lock:{product:42}' 0 -1 WITHSCORES  # each reader's claim, and the end of its lease in ms
redis-cli HGETALL 'lock:{product:42}:1:waiters'       # =<claim>, <token> <state> <permits>; and the kind of the lock
# #endregion
