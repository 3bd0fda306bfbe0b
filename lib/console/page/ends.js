/** @typedef {import('./api.js').Refused} Refused */

/** What each end of a session, or of a view, is called, and what to do. @type {Record<string, [state: string, text: string]>} */
const endTexts = {
  away: ['Cut off', 'Cut off from the server.'],
  gateway: ['Cut off', 'A proxy answers instead of the server: the application does not run, or is not ready.'],
  signin: ['Signed out', 'You are signed out.'],
  forbidden: ['Not allowed', 'You may not look at locks any more (403). The guards of this page decide that.'],
  origin: ['Not allowed', 'The server refuses the request, because it does not seem to come from this page.'],
  throttled: ['Slowed down', 'The server limits how often you may ask (429). The page asks less often.'],
  gone: ['Cut off', 'The server has no console at this address any more (404).'],
  connection: ['Cut off', 'The server has no connection of this name.'],
  unread: ['Cut off', 'The page does not understand what the server answers: reload it.'],
};

/** @param {Refused} problem @returns {[state: string, text: string]} */
export function endOf({ code, status }) {
  return endTexts[code] ?? ['Cut off', 'The server answers with an error (' + status + '). Its log says why.'];
}
