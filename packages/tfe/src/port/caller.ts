/** Who sends a request: the owner of a token. */
export interface TfeCaller {
  readonly account: string;
  /** Who it is: a user, or a credential by its id, never a secret. */
  readonly actor: string;
  /** Id of the token or key of the request: addresses that are made for it are of use as long as it is valid. */
  readonly credential: string;
  /** May read states, lock, store states and request runs. */
  readonly isOperator: boolean;
  /** May create and delete workspaces and projects. */
  readonly isAdmin: boolean;
  /** Projects in which it may do so, beside what `isAdmin` says of all that it sees. @default none */
  readonly adminProjects?: readonly string[];
  /** Projects that it sees; empty means all of the account. */
  readonly projects: readonly string[];
}
