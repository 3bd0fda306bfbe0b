/**
 * The simulator of the documents: `<lock-lab scene="pause"></lock-lab>` on any page that loads this module in a browser, never on a server:
 *
 *   npm run docs -- lab                               writes dist/lab/lock-lab.js, one file without imports
 *   <script type="module" src="lock-lab.js"></script>  in an HTML file; in VitePress `import(…)` of it inside onMounted
 *
 * Scenes: pause, fencing, queue, crash, message, outage, orders, readers, permits (scenes.ts). The width is that of its container; the
 * colours follow `color-scheme`, which VitePress sets.
 */
import { LockLab } from './element.js';

if (!customElements.get('lock-lab')) customElements.define('lock-lab', LockLab);
