import java.util.function.LongConsumer;
import org.redisson.Redisson;
import org.redisson.api.RBucket;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.IntegerCodec;
import org.redisson.config.Config;

/** A service in Java that shares its locks with products.ts. */
public final class Products {
    private final RedissonClient redisson;

    private Products(RedissonClient redisson) {
        this.redisson = redisson;
    }

    // #region take
    int take(String id) {
        RLock lock = redisson.getLock("product:" + id);
        lock.lock();
        try {
            RBucket<Integer> stock = redisson.getBucket("stock:" + id, IntegerCodec.INSTANCE);
            int left = stock.get() - 1;
            stock.set(left);
            return left;
        } finally {
            lock.unlock();
        }
    }
    // #endregion

    // #region fenced
    void withToken(String id, LongConsumer work) {
        RFencedLock lock = redisson.getFencedLock("product:" + id);
        long token = lock.lockAndGetToken();
        try {
            work.accept(token); // UPDATE … WHERE id = ? AND fence <= token
        } finally {
            lock.unlock();
        }
    }
    // #endregion

    /** args: Redis, `take` or `token`, a product, how often. Prints what is left, or the token, each time. */
    public static void main(String[] args) {
        Config config = new Config();
        config.useSingleServer().setAddress(args[0]);
        RedissonClient redisson = Redisson.create(config);
        Products products = new Products(redisson);
        for (int turn = 0; turn < Integer.parseInt(args[3]); turn++) {
            if (args[1].equals("take")) System.out.println(products.take(args[2]));
            else products.withToken(args[2], System.out::println);
        }
        redisson.shutdown();
    }
}
