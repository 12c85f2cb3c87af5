import { branchOf } from "../git/branch-name.ts";
import type { GitRepository } from "../git/git-repository.ts";
import { outgoingSignature } from "../outgoing-signature.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import type { OutgoingHosts } from "./outgoing-hosts.ts";
import { VcsError, type VcsProvider } from "./vcs-provider.ts";

interface GenericOptions {
  readonly repository: GitRepository;
  /** The branch that others are merged into. */
  readonly branch: string;
  /** Where comments and statuses are sent; empty: nowhere. */
  readonly reportUrl: string;
  /** Hosts that reports may be sent to. */
  readonly hosts: OutgoingHosts;
  readonly secret: Uint8Array;
  readonly wallMs: () => number;
  readonly token: () => string;
}

/**
 * A repository without pull requests: each branch beside the one of the connection is one, merged as soon as that branch has its newest
 * commit. Comments and statuses are sent to an address, signed. It has no users, so that no comment asks for anything.
 */
export function createGenericProvider(options: GenericOptions): VcsProvider {
  const { repository, branch, reportUrl, hosts } = options;
  const send = async (report: object, signal: AbortSignal): Promise<void> => {
    if (reportUrl === "") return;
    const body = JSON.stringify(report);
    const signed = { id: options.token(), nowMs: options.wallMs(), body };
    const headers = {
      "content-type": "application/json",
      ...outgoingSignature(options.secret, signed),
    };
    const { status } = await boundedFetch({
      method: "POST",
      address: reportUrl,
      headers,
      body,
      lookup: hosts.lookup(new URL(reportUrl)),
      signal,
    });
    if (status < 200 || status >= 300) {
      throw new VcsError(`the receiver of reports answered with ${status}`, status);
    }
  };
  return {
    pullRequest: async (id) => {
      const reference = `refs/heads/${id}`;
      const base = `refs/heads/${branch}`;
      const found = await repository.fetch([reference, base]);
      const head = found.get(reference);
      // What was deleted has no commits to ask: the caller knows what it was.
      if (head === undefined) return undefined;
      const baseCommit = found.get(base);
      const merged = baseCommit !== undefined && (await repository.isAncestor(head, baseCommit));
      return {
        ...(await repository.subjectOf(head)),
        base: branch,
        head,
        reference,
        branch: reference,
        fork: false,
        state: merged ? "merged" : "open",
        ...(merged && { mergeCommit: head }),
      };
    },
    listed: ["refs/heads/*"],
    openPullRequests: async (_branch, references) => {
      const heads = new Map<string, string>();
      for (const [reference, commit] of references) {
        const id = branchOf(reference);
        if (id !== undefined && id !== branch) heads.set(id, commit);
      }
      return Promise.resolve({ heads, isComplete: true });
    },
    writeComment: async (id, { text, commentId }, signal) => {
      await send({ type: "comment", pull_request: id, text }, signal);
      return commentId === "" ? "sent" : commentId;
    },
    writeStatus: async (status, signal) => send({ type: "status", ...status }, signal),
    mayWrite: async () => Promise.resolve(false),
    approvers: async () => Promise.resolve([]),
  };
}
