/** Where in the code a lock is asked for. */
export interface LockPlace {
  /** Class and method. */
  readonly where: string;
  /** What the name is made from; undefined where it is given as it is, or made by a function. */
  readonly template: string | undefined;
  /** What each of several names is made from. */
  readonly templates?: readonly string[];
}
