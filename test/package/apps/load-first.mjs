// For `deno run --preload`: from here on the package is loaded, and require() finds it.
import 'nestjs-redis-lock';
