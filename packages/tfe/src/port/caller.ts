/** Who sends a request: the owner of a token. */
export interface TfeCaller {
  readonly account: string;
  /** Id of the credential, never a secret. */
  readonly actor: string;
  /** May read states, lock, store states and request runs. */
  readonly isOperator: boolean;
  /** May create and delete workspaces and projects. */
  readonly isAdmin: boolean;
  /** Projects that it sees; empty means all of the account. */
  readonly projects: readonly string[];
}
