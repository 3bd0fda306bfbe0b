/** The headers of a request, by their lower-case names. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Only a script of the same origin can set it without asking the server first. */
const ownHeader = 'x-lock-console';

/**
 * True for a request that a page of another origin makes: it may read the answer where CORS of the application allows it, with the cookies
 * of the person who looks at that page.
 */
export function isFromElsewhere({ origin, host, 'sec-fetch-site': site }: Headers): boolean {
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  return typeof origin === 'string' && hostOf(origin) !== host;
}

/**
 * True for a request that the page of this console can have sent. A page of another origin can make a browser send a request with the
 * user's cookies: not with this header and media type, and the browser says where the request comes from. Browsers leave out
 * `Sec-Fetch-Site` where the page was loaded without TLS.
 */
export function isFromOwnPage(headers: Headers): boolean {
  const { origin, host, 'sec-fetch-site': site } = headers;
  const [media] = String(headers['content-type'] ?? '').split(';');
  if (media!.trim().toLowerCase() !== 'application/json' || headers[ownHeader] !== '1') return false;
  return site === undefined ? typeof origin === 'string' && hostOf(origin) === host : site === 'same-origin';
}

function hostOf(origin: string): string | undefined {
  try {
    return new URL(origin).host;
  } catch {
    return undefined;
  }
}
