import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * A box office in Java: `POST /events/<id>/tickets` sells a ticket as the application does (purchase.service.ts), from the same database and
 * with the same guards. Its settings are those of the application.
 */
public final class BoxOffice {
    private final String guard = System.getenv("SALE_GUARD");
    private final String database = "jdbc:sqlite:" + System.getenv("DATABASE_FILE") + "?busy_timeout=10000";
    private final String paymentMs = System.getenv("PAYMENT_MS");
    private final ReentrantLock mutex = new ReentrantLock();
    private final RedissonClient redisson;

    private BoxOffice() {
        Config config = new Config();
        config.useSingleServer().setAddress(System.getenv("REDIS_URL"));
        String lease = System.getenv("LEASE_MS");
        if (lease != null && !lease.isEmpty()) config.setLockWatchdogTimeout(Long.parseLong(lease));
        redisson = Redisson.create(config);
    }

    // #region locked
    /** The same lock as @DistributedLock({ key: 'event:#{eventId}', wait: '30s' }), and tokens from the same counter. */
    private boolean sellLocked(String eventId, String buyer) throws Exception {
        RFencedLock lock = redisson.getFencedLock("event:" + eventId);
        Long token = lock.tryLockAndGetToken(30, TimeUnit.SECONDS);
        if (token == null) throw new IllegalStateException("The lock was not free within 30 s.");
        try {
            return purchase(eventId, buyer, token);
        } finally {
            lock.unlock();
        }
    }
    // #endregion

    private boolean sell(String eventId, String buyer) throws Exception {
        if (guard.equals("lock")) return sellLocked(eventId, buyer);
        if (guard.equals("none")) return purchase(eventId, buyer, null);
        mutex.lock();
        try {
            return purchase(eventId, buyer, null);
        } finally {
            mutex.unlock();
        }
    }

    /** False when the event is sold out. */
    private boolean purchase(String eventId, String buyer, Long token) throws Exception {
        try (Connection connection = DriverManager.getConnection(database)) {
            String fence = token == null ? "" : ", \"fencingToken\" = " + token;
            String unlessStale = token == null ? "" : " AND \"fencingToken\" <= " + token;
            String change = "UPDATE ticket_sale_events SET \"left\" = %s" + fence + " WHERE id = ?" + unlessStale;
            if (token != null) write(connection, String.format(change, "\"left\""), eventId);

            long left = read(connection, "SELECT \"left\" FROM ticket_sale_events WHERE id = ?", eventId);
            if (left <= 0) return false;

            Thread.sleep(paymentMs == null || paymentMs.isEmpty() ? ThreadLocalRandom.current().nextInt(5, 20) : Long.parseLong(paymentMs));

            write(connection, String.format(change, left - 1), eventId);
            write(connection, "INSERT INTO ticket_sale_orders (id, \"eventId\", buyer) VALUES (?, ?, ?)",
                UUID.randomUUID().toString(), eventId, buyer);
            return true;
        }
    }

    private static long read(Connection connection, String sql, String id) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setString(1, id);
            try (ResultSet row = statement.executeQuery()) {
                if (!row.next()) throw new IllegalStateException("There is no such event.");
                return row.getLong(1);
            }
        }
    }

    /** One row, or another holder of the lock has written it since. */
    private static void write(Connection connection, String sql, String... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int index = 0; index < values.length; index++) statement.setString(index + 1, values[index]);
            if (statement.executeUpdate() != 1) throw new IllegalStateException("The purchase took too long; nothing was sold.");
        }
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            int status;
            String text;
            try {
                String eventId = exchange.getRequestURI().getPath().split("/")[2];
                boolean sold = sell(eventId, exchange.getRequestHeaders().getFirst("x-buyer"));
                status = sold ? 201 : 410;
                text = sold ? "sold" : "sold out";
            } catch (Exception error) {
                status = 500;
                text = error.toString();
            }
            byte[] body = text.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(status, body.length);
            exchange.getResponseBody().write(body);
        }
    }

    /** The first lock and the first statement of a JVM load a thousand classes: before the sale, not in it. */
    private void warmUp() throws SQLException {
        RLock lock = redisson.getLock("box-office:" + UUID.randomUUID());
        for (int turn = 0; turn < 100; turn++) {
            lock.lock();
            lock.unlock();
        }
        try (Connection connection = DriverManager.getConnection(database)) {
            connection.prepareStatement("SELECT count(*) FROM ticket_sale_orders").executeQuery();
        }
    }

    public static void main(String[] args) throws Exception {
        BoxOffice office = new BoxOffice();
        office.warmUp();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 5000);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/events/", office::answer);
        server.start();
        System.out.println("http://127.0.0.1:" + server.getAddress().getPort());
        // It does not outlive the demo, which holds the other end.
        while (System.in.read() >= 0) continue;
        Runtime.getRuntime().halt(0);
    }
}
