/** What a Git server says about a pull request at this moment. */
export interface PullRequestFacts {
  readonly title: string;
  readonly author: string;
  readonly base: string;
  /** Its newest commit, as the server of the repository says. */
  readonly head: string;
  /** The reference that git fetches for it. */
  readonly reference: string;
  /** Its branch: what is not on a branch of the repository is not of a user who may write to it, whatever else is said about it. */
  readonly branch: string;
  /** From another repository than the one of the connection. */
  readonly fork: boolean;
  readonly state: "open" | "merged" | "closed";
  /** The commit of the base that has it; undefined before it is merged. */
  readonly mergeCommit?: string;
  /** Who merged it; undefined where the Git server does not say. */
  readonly mergedBy?: string;
}

/** A status of a commit. */
export interface CommitStatus {
  readonly commit: string;
  readonly context: string;
  readonly state: "pending" | "success" | "failure" | "error";
  readonly description: string;
}

/** The open pull requests that a Git server lists. */
interface OpenPullRequests {
  /** Their newest commits, by their ids. */
  readonly heads: ReadonlyMap<string, string>;
  /** Whether these are all of them: there is a bound. */
  readonly isComplete: boolean;
}

/** The Git server of a connection. Every call has a deadline; a call that fails rejects with a {@link VcsError}. */
export interface VcsProvider {
  /** Undefined where there is no such pull request. */
  pullRequest(id: string, signal: AbortSignal): Promise<PullRequestFacts | undefined>;
  /** Patterns of the references of the repository that say what pull requests are open. */
  readonly listed: readonly string[];
  /** Those for a branch, by one request where there are few. `references`: those of the repository, with their commits. */
  openPullRequests(
    branch: string,
    references: ReadonlyMap<string, string>,
    signal: AbortSignal,
  ): Promise<OpenPullRequests>;
  /**
   * Writes the comment of a pull request, or replaces it, and returns its id. Without an id the comment that begins with the marker is
   * searched for first: the answer to an earlier call may have been lost.
   */
  writeComment(
    id: string,
    comment: { readonly commentId: string; readonly marker: string; readonly text: string },
    signal: AbortSignal,
  ): Promise<string>;
  writeStatus(status: CommitStatus, signal: AbortSignal): Promise<void>;
  /** Whether a user may write to the repository. */
  mayWrite(user: string, signal: AbortSignal): Promise<boolean>;
  /** Users other than the author who approve the newest commit of a pull request. */
  approvers(
    id: string,
    facts: Pick<PullRequestFacts, "head" | "author">,
    signal: AbortSignal,
  ): Promise<readonly string[]>;
}

/** Why a Git server refused a call, or did not answer it. */
export class VcsError extends Error {
  override readonly name = "VcsError";
  /** Status of the answer; 0 without one. */
  readonly status: number;

  constructor(message: string, status: number, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}
