/** A link that fails on command. It lives in scripts/, because the demo cuts links too. */
export { type Direction, type Tap, TcpProxy } from '../../scripts/tcp-proxy.js';
