import { isJsonObject, readJsonObject } from "@stackwright/base/json";
import { boundedFetch } from "./bounded-fetch.ts";
import type { OutgoingHosts } from "./outgoing-hosts.ts";
import { type PullRequestFacts, VcsError, type VcsProvider } from "./vcs-provider.ts";

interface HostedOptions {
  readonly kind: "gitea" | "github";
  /** Base of the API, such as `https://git.example.com/api/v1`. */
  readonly apiUrl: string;
  /** `OWNER/NAME`. */
  readonly repository: string;
  readonly token: string;
  /** Hosts whose APIs may be called. */
  readonly hosts: OutgoingHosts;
}

type Facts = Readonly<Record<string, unknown>>;

/** Comments of a pull request that are searched for the marker, by pages. */
const PAGE = 50;
const MAX_PAGES = 40;
/** Pages of open pull requests. */
const MAX_OPEN_PAGES = 10;
/** Open pull requests, those that changed last first. */
const OPEN_PULLS = {
  gitea: "state=open&sort=recentupdate",
  github: "state=open&sort=updated&direction=desc",
} as const;

/** Gitea, Forgejo and GitHub: the calls that are used here have the same form in their APIs. */
export function createHostedProvider({
  kind,
  apiUrl,
  repository,
  token,
  hosts,
}: HostedOptions): VcsProvider {
  const base = `${apiUrl.replace(/\/+$/, "")}/repos/${repository}`;
  const call = async (
    method: string,
    path: string,
    signal: AbortSignal,
    body?: object,
  ): Promise<{ readonly status: number; readonly data: unknown }> => {
    const { status, text } = await boundedFetch({
      method,
      address: base + path,
      lookup: hosts.lookup(new URL(base)),
      signal,
      headers: {
        accept: kind === "github" ? "application/vnd.github+json" : "application/json",
        ...(kind === "github" && { "x-github-api-version": "2022-11-28" }),
        ...(token !== "" && {
          authorization: `${kind === "github" ? "Bearer" : "token"} ${token}`,
        }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (status === 404) return { status, data: undefined };
    const data = dataOf(text);
    if (status >= 200 && status < 300) return { status, data };
    const detail = isJsonObject(data) ? textOf(data["message"]).slice(0, 300) : "";
    // GitHub answers so, too, where there were too many requests, which says nothing of what the token may do.
    const isLimited = status === 403 && /rate limit/i.test(detail);
    const message = `${method} ${base}${path}: ${status}${detail && `, ${detail}`}`;
    throw new VcsError(message, isLimited ? 429 : status);
  };
  const need = async (method: string, path: string, signal: AbortSignal, body?: object) => {
    const { status, data } = await call(method, path, signal, body);
    if (status !== 404) return data;
    throw new VcsError(`${method} ${base}${path}: not found, or not visible with the token`, 404);
  };
  const list = async (
    path: string,
    signal: AbortSignal,
    page: number,
    filter = "",
  ): Promise<Facts[]> => {
    const limits = kind === "github" ? `per_page=${PAGE}` : `limit=${PAGE}`;
    const more = filter === "" ? "" : `&${filter}`;
    const data = await need("GET", `${path}?${limits}&page=${page}${more}`, signal);
    return Array.isArray(data) ? data.filter(isJsonObject) : [];
  };

  const findComment = async (
    id: string,
    marker: string,
    signal: AbortSignal,
  ): Promise<string | undefined> => {
    for (let page = 1; page <= MAX_PAGES; page += 1) {
      const comments = await list(`/issues/${id}/comments`, signal, page);
      const found = comments.find(({ body }) => textOf(body).startsWith(marker));
      if (found !== undefined) return idOf(found["id"]);
      if (comments.length < PAGE) return undefined;
    }
    return undefined;
  };

  return {
    pullRequest: async (id, signal) => {
      const { data } = await call("GET", `/pulls/${id}`, signal);
      return isJsonObject(data) ? factsOf(data, id) : undefined;
    },
    listed: [],
    openPullRequests: async (branch, _references, signal) => {
      const heads = new Map<string, string>();
      for (let page = 1; page <= MAX_OPEN_PAGES; page += 1) {
        const pulls = await list("/pulls", signal, page, OPEN_PULLS[kind]);
        for (const pull of pulls) {
          const { base, head } = factsOf(pull, "");
          const id = idOf(pull["number"]);
          if (base === branch && id !== "" && head !== "") heads.set(id, head);
        }
        if (pulls.length < PAGE) return { heads, isComplete: true };
      }
      return { heads, isComplete: false };
    },
    writeComment: async (id, { commentId, marker, text }, signal) => {
      const known = commentId === "" ? await findComment(id, marker, signal) : commentId;
      if (known !== undefined) {
        const changed = await call("PATCH", `/issues/comments/${known}`, signal, { body: text });
        // Somebody deleted it: it is written again.
        if (changed.status !== 404) return known;
      }
      const made = await need("POST", `/issues/${id}/comments`, signal, { body: text });
      return isJsonObject(made) ? idOf(made["id"]) : "";
    },
    writeStatus: async ({ commit, ...status }, signal) => {
      await need("POST", `/statuses/${commit}`, signal, status);
    },
    mayWrite: async (user, signal) => {
      const path = `/collaborators/${encodeURIComponent(user)}/permission`;
      const { data } = await call("GET", path, signal);
      const permission = isJsonObject(data) ? textOf(data["permission"]) : "";
      return ["write", "admin", "owner", "maintain"].includes(permission);
    },
    approvers: async (id, { head, author }, signal) => {
      // Of each user the newest review counts; they come in the order of time.
      const states = new Map<string, boolean>();
      for (let page = 1; page <= MAX_PAGES; page += 1) {
        const reviews = await list(`/pulls/${id}/reviews`, signal, page);
        for (const review of reviews) {
          const user = isJsonObject(review["user"]) ? textOf(review["user"]["login"]) : "";
          const state = textOf(review["state"]).toUpperCase();
          if (user === "" || state === "COMMENT" || state === "COMMENTED" || state === "PENDING")
            continue;
          const counts = review["dismissed"] !== true && textOf(review["commit_id"]) === head;
          states.set(user, state === "APPROVED" && counts);
        }
        if (reviews.length < PAGE) break;
      }
      return [...states].flatMap(([user, approves]) => (approves && user !== author ? [user] : []));
    },
  };
}

function factsOf(data: Facts, id: string): PullRequestFacts {
  const base = isJsonObject(data["base"]) ? data["base"] : {};
  const head = isJsonObject(data["head"]) ? data["head"] : {};
  const user = isJsonObject(data["user"]) ? data["user"] : {};
  const merged = data["merged"] === true || textOf(data["merged_at"]) !== "";
  const mergeCommit = textOf(data["merge_commit_sha"] ?? data["merged_commit_id"]);
  const mergedBy = isJsonObject(data["merged_by"]) ? textOf(data["merged_by"]["login"]) : "";
  return {
    title: textOf(data["title"]).slice(0, 256),
    author: textOf(user["login"]),
    base: textOf(base["ref"]),
    head: textOf(head["sha"]),
    reference: `refs/pull/${id}/head`,
    branch: `refs/heads/${textOf(head["ref"])}`,
    // A repository that was deleted is another one as well.
    fork: repositoryOf(base) === "" || repositoryOf(head) !== repositoryOf(base),
    state: merged ? "merged" : textOf(data["state"]) === "open" ? "open" : "closed",
    ...(merged && mergeCommit !== "" && { mergeCommit }),
    ...(merged && mergedBy !== "" && { mergedBy }),
  };
}

function repositoryOf(side: Facts): string {
  return isJsonObject(side["repo"]) ? textOf(side["repo"]["full_name"]).toLowerCase() : "";
}

/** JSON of any form; lists are among the answers. */
function dataOf(text: string): unknown {
  if (text.trimStart().startsWith("[")) {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      return undefined;
    }
  }
  return readJsonObject(Buffer.from(text), { maxDepth: 64 }).object;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function idOf(value: unknown): string {
  return typeof value === "number" ? String(value) : textOf(value);
}
