import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RBucket;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.LongCodec;
import org.redisson.config.ClusterServersConfig;
import org.redisson.config.Config;
import org.redisson.config.ReadMode;

/**
 * A Java service that locks. It reads one command a line from stdin, `id actor verb kind name [number] [number]`, and prints
 * `id answer nanoTime`. An answer that begins with `!` is the name of an exception.
 *
 * Redisson's locks belong to threads, so each actor is a thread of its own: its commands run one after the other, those of two actors at
 * once. System.nanoTime() and Node's process.hrtime.bigint() are one clock on Linux, so latencies can be measured across the two.
 *
 * The TypeScript peer (peer.ts) obeys the same commands.
 */
public final class Peer {
    private static final Map<String, ExecutorService> ACTORS = new ConcurrentHashMap<>();

    /** args: single | sentinel | cluster | cluster-plain (without sharded messages), addresses (comma between two; of Sentinel: the group's name first), watchdog ms */
    public static void main(String[] args) throws Exception {
        RedissonClient redisson = Redisson.create(configOf(args[0], args[1].split(","), Long.parseLong(args[2])));
        say("ready", redisson.getId());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null;) {
            String[] words = line.split(" ");
            ACTORS.computeIfAbsent(words[1], Peer::thread).execute(() -> {
                try {
                    say(words[0], run(redisson, words));
                } catch (Throwable error) {
                    say(words[0], "!" + error.getClass().getSimpleName());
                }
            });
        }
        // The driver is gone. Locks are left to their leases.
        Runtime.getRuntime().halt(0);
    }

    private static Config configOf(String mode, String[] addresses, long watchdog) throws Exception {
        Config config = new Config();
        config.setLockWatchdogTimeout(watchdog).setThreads(4).setNettyThreads(4);
        if (mode.startsWith("cluster")) {
            ClusterServersConfig cluster = config.useClusterServers().addNodeAddress(addresses).setReadMode(ReadMode.MASTER)
                .setMasterConnectionMinimumIdleSize(1).setSlaveConnectionMinimumIdleSize(1);
            if (mode.equals("cluster-plain")) plain(cluster);
        } else if (mode.equals("sentinel")) {
            config.useSentinelServers().setMasterName(addresses[0])
                .addSentinelAddress(Arrays.copyOfRange(addresses, 1, addresses.length))
                .setMasterConnectionMinimumIdleSize(1).setSlaveConnectionMinimumIdleSize(1);
        } else {
            config.useSingleServer().setAddress(addresses[0]).setConnectionMinimumIdleSize(1);
        }
        return config;
    }

    /** The setting exists since 3.29.0. Before, the order of the addresses decides. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    private static void plain(ClusterServersConfig cluster) throws Exception {
        for (Method method : ClusterServersConfig.class.getMethods()) {
            if (!method.getName().equals("setShardedSubscriptionMode")) continue;
            method.invoke(cluster, Enum.valueOf((Class<? extends Enum>) method.getParameterTypes()[0], "OFF"));
        }
    }

    private static ExecutorService thread(String actor) {
        return Executors.newSingleThreadExecutor(run -> {
            Thread thread = new Thread(run, actor);
            thread.setDaemon(true);
            return thread;
        });
    }

    private static Object run(RedissonClient redisson, String[] words) throws Exception {
        RLock lock = lockOf(redisson, words[3], words[4]);
        long first = words.length > 5 ? Long.parseLong(words[5]) : 0;
        long lease = words.length > 6 ? Long.parseLong(words[6]) : -1;
        switch (words[2]) {
            // lock [lease ms]
            case "lock": lock.lock(words.length > 5 ? first : -1, TimeUnit.MILLISECONDS); return "held";
            // try [wait ms] [lease ms]
            case "try": return lock.tryLock(first, lease, TimeUnit.MILLISECONDS) ? "held" : "no";
            case "token": return ((RFencedLock) lock).tryLockAndGetToken(first, lease, TimeUnit.MILLISECONDS);
            case "unlock": lock.unlock(); return "ok";
            case "force": return lock.forceUnlock();
            case "locked": return lock.isLocked();
            case "held": return lock.isHeldByCurrentThread();
            case "count": return lock.getHoldCount();
            case "ttl": return lock.remainTimeToLive();
            case "field": return redisson.getId() + ":" + Thread.currentThread().getId();
            // add <times>: as often, under the lock, reads the counter `<name>:counter` and writes it back, one larger
            case "add":
                RBucket<Long> counter = redisson.getBucket(words[4] + ":counter", LongCodec.INSTANCE);
                for (long done = 0; done < first; done++) {
                    lock.lock();
                    try {
                        Long old = counter.get();
                        counter.set(old == null ? 1 : old + 1);
                    } finally {
                        lock.unlock();
                    }
                }
                return "ok";
            // beat <until, in ns of the common clock>: takes and releases the lock until then; the answer is how often
            case "beat":
                long grants = 0;
                for (; System.nanoTime() < first; grants++) {
                    lock.lock();
                    lock.unlock();
                }
                return grants;
            // giveBack: unlocks; the answer is when it began, in ns of the common clock
            case "giveBack":
                long began = System.nanoTime();
                lock.unlock();
                return began;
            // turns <until, in ns of the common clock> <ms inside>: how often it had the lock, and its longest wait (ns), comma between the two
            case "turns":
                long turns = 0;
                long longest = 0;
                for (long asked; (asked = System.nanoTime()) < first; turns++) {
                    lock.lock();
                    longest = Math.max(longest, System.nanoTime() - asked);
                    try {
                        if (lease > 0) Thread.sleep(lease);
                    } finally {
                        lock.unlock();
                    }
                }
                return turns + "," + longest;
            // parks, with an actor in place of the name: returns when that one waits for a message. A message of a read or write lock that
            // comes between its question and its waiting is lost in Redisson.
            case "parks":
                Thread actor = Thread.getAllStackTraces().keySet().stream().filter(one -> one.getName().equals(words[4])).findFirst().get();
                while (Arrays.stream(actor.getStackTrace()).noneMatch(frame -> frame.getClassName().equals("java.util.concurrent.Semaphore")))
                    Thread.sleep(1);
                return "ok";
            default: throw new IllegalArgumentException(words[2]);
        }
    }

    private static RLock lockOf(RedissonClient redisson, String kind, String name) throws Exception {
        switch (kind) {
            case "plain": return redisson.getLock(name);
            case "fenced": return redisson.getFencedLock(name);
            case "fair": return redisson.getFairLock(name);
            case "spin": return redisson.getSpinLock(name);
            case "read": return redisson.getReadWriteLock(name).readLock();
            case "write": return redisson.getReadWriteLock(name).writeLock();
            case "multi":
                return redisson.getMultiLock(Arrays.stream(name.split(",")).map(redisson::getLock).toArray(RLock[]::new));
            // Since 4.4.0: the name of its factory is looked up, so that this compiles with all versions.
            case "once": return (RLock) RedissonClient.class.getMethod("getNonReentrantLock", String.class).invoke(redisson, name);
            default: throw new IllegalArgumentException(kind);
        }
    }

    private static synchronized void say(String id, Object answer) {
        System.out.println(id + " " + answer + " " + System.nanoTime());
        System.out.flush();
    }
}
