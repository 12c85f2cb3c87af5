import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { GITHUB_REPOSITORY, type GithubBody, githubExample } from "./github-examples.ts";

/** What GitHub takes of a status and of a comment. */
const MAX_DESCRIPTION = 140;
const MAX_COMMENT = 65_536;
const STATES = ["error", "failure", "pending", "success"];

/** The API of GitHub with the pull request of the examples, as far as connections call it; it refuses what GitHub would. */
export async function startFakeGithub(token: string) {
  const pulls = `/repos/${GITHUB_REPOSITORY}/pulls/2`;
  const issues = `/repos/${GITHUB_REPOSITORY}/issues`;
  const shown = { head: "", merged: false, mergeCommit: "", comment: "" };
  const statuses = new Map<string, string>();
  const reviews: GithubBody[] = [];
  const refused: string[] = [];
  const opened = githubExample("pull_request", ({ action }) => action === "opened")[
    "pull_request"
  ] as GithubBody;
  const pullRequest = () => ({
    ...opened,
    head: { ...(opened["head"] as GithubBody), sha: shown.head },
    ...(shown.merged && {
      state: "closed",
      merged: true,
      merged_at: "2026-01-01T00:00:00Z",
      merge_commit_sha: shown.mergeCommit,
    }),
  });
  const answer = (
    method: string,
    path: string,
    body: Readonly<Record<string, string>>,
  ): object | undefined => {
    const asked = `${method} ${path}`;
    if (asked === `GET ${pulls}`) return pullRequest();
    if (asked === `GET /repos/${GITHUB_REPOSITORY}/pulls`) {
      return shown.merged || shown.head === "" ? [] : [pullRequest()];
    }
    if (asked === `GET ${pulls}/reviews`) return reviews;
    if (/^GET .*\/collaborators\/[^/]+\/permission$/.test(asked)) return { permission: "write" };
    if (asked === `GET ${issues}/2/comments`) return [];
    if (asked === `POST ${issues}/2/comments` || asked === `PATCH ${issues}/comments/77`) {
      const { body: comment = "" } = body;
      if (comment === "" || comment.length > MAX_COMMENT) return undefined;
      shown.comment = comment;
      return { id: 77, body: comment };
    }
    if (!/^POST .*\/statuses\/[0-9a-f]{40}$/.test(asked)) return undefined;
    const { state = "", context = "", description = "" } = body;
    if (!STATES.includes(state) || description.length > MAX_DESCRIPTION) return undefined;
    statuses.set(context, `${state}: ${description}`);
    return { id: 1, state, context, description };
  };
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const content = await text(request);
    const { authorization, accept, "x-github-api-version": version } = request.headers;
    const { method = "", url = "" } = request;
    const { pathname } = new URL(url, "http://localhost");
    const given = content === "" ? {} : (JSON.parse(content) as Record<string, string>);
    const isOurs = authorization === `Bearer ${token}`;
    const isVersioned = accept === "application/vnd.github+json" && version === "2022-11-28";
    const found = isOurs && isVersioned ? answer(method, pathname, given) : undefined;
    if (found === undefined) refused.push(`${method} ${url} ${content}`);
    response.statusCode = found === undefined ? 422 : method === "POST" ? 201 : 200;
    response.setHeader("content-type", "application/json; charset=utf-8");
    response.end(JSON.stringify(found ?? { message: "Validation Failed" }));
  };
  const server = createServer((request, response) => void receive(request, response));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  /** A user approves the newest commit. */
  const approve = (login: string): void => {
    const { review } = githubExample("pull_request_review") as { readonly review: GithubBody };
    reviews.push({ ...review, user: { login }, state: "APPROVED", commit_id: shown.head });
  };
  return { url: `http://127.0.0.1:${port}`, shown, statuses, refused, approve };
}
