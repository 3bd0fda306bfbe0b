/**
 * The id of a node claim: that of the quorum claim with a second number behind its own, so that the id still names process and method.
 * No part of an id has a `$` there. The first node claims have the id of the quorum claim itself.
 * @param claim as from `newClaimId`
 */
export function nodeClaimId(claim: string, count: number): string {
  const [client, number, ...method] = claim.split(':');
  return [client, `${number}$${count}`, ...method].join(':');
}

/** The id of the quorum claim that a node claim belongs to. */
export function quorumClaimId(nodeClaim: string): string {
  const [client, number, ...method] = nodeClaim.split(':');
  return [client, number?.replace(/\$\d+$/, ''), ...method].join(':');
}
