import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** The API of a Git server with one pull request, as far as connections call it. */
export async function startFakeGitea(branch: string) {
  const repo = { full_name: "acme/infra" };
  const shown = {
    head: "",
    base: "main",
    closed: false,
    merged: false,
    mergeCommit: "",
    mergedBy: "",
    comment: "",
    isFork: false,
  };
  const statuses = new Map<string, string>();
  /** Reviews of the pull request, the oldest first. */
  const reviews: { readonly user: { login: string }; state: string; commit_id: string }[] = [];
  /** Users who may only read. */
  const readers = new Set<string>();
  /** Every request as it was sent, but for the token of its sender. */
  const received: string[] = [];
  const answer = (method: string, path: string, body: Record<string, string>): object => {
    const isList = path.endsWith("/pulls");
    if (isList || path.endsWith("/pulls/1")) {
      const pull = {
        number: 1,
        title: "change",
        user: { login: "ann" },
        state: shown.merged || shown.closed ? "closed" : "open",
        merged: shown.merged,
        ...(shown.merged && { merge_commit_sha: shown.mergeCommit }),
        ...(shown.mergedBy !== "" && { merged_by: { login: shown.mergedBy } }),
        base: { ref: shown.base, repo },
        head: {
          ref: branch,
          sha: shown.head,
          repo: shown.isFork ? { full_name: "mallory/infra" } : repo,
        },
      };
      if (!isList) return pull;
      return pull.state === "open" && shown.head !== "" ? [pull] : [];
    }
    if (path.endsWith("/reviews")) return reviews;
    if (path.endsWith("/permission")) {
      const isReader = readers.has(path.split("/").at(-2) ?? "");
      return { permission: isReader ? "read" : "write" };
    }
    if (path.includes("/statuses/")) {
      statuses.set(body["context"] ?? "", `${body["state"]}: ${body["description"]}`);
    }
    if (path.includes("/comments") && method !== "GET") {
      shown.comment = body["body"] ?? "";
      return { id: 1 };
    }
    return method === "GET" ? [] : {};
  };
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const { authorization: _token, ...headers } = request.headers;
    received.push(`${request.method} ${request.url} ${JSON.stringify(headers)} ${body}`);
    const { pathname } = new URL(request.url ?? "", "http://localhost");
    const given = body === "" ? {} : (JSON.parse(body) as Record<string, string>);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(answer(request.method ?? "", pathname, given)));
  };
  const server = createServer((request, response) => void receive(request, response));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  /** A user says something about a commit; by default approval of the newest one. */
  const review = (login: string, commit = shown.head, state = "APPROVED"): void => {
    reviews.push({ user: { login }, state, commit_id: commit });
  };
  return { url: `http://127.0.0.1:${port}/api/v1`, shown, statuses, received, readers, review };
}
