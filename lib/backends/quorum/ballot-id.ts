/**
 * The claim that one ballot makes at its node: that of the candidate with a number of its own behind the number of the claim, so that
 * what the id tells of process and method (core/claim-id.ts) stays where it is. The first ballots bear the candidate's own.
 * @param claim `clientId:n` or `clientId:n:method`
 */
export function ballotId(claim: string, count: number): string {
  const [client, number, ...method] = claim.split(':');
  return [client, `${number}.${count}`, ...method].join(':');
}

/** The claim of the candidate that a ballot belongs to. */
export function candidateOf(ballot: string): string {
  const [client, number, ...method] = ballot.split(':');
  return [client, number?.replace(/\.\d+$/, ''), ...method].join(':');
}
