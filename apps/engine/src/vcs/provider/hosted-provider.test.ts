import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { createHostedProvider } from "./hosted-provider.ts";
import { OutgoingHosts } from "./outgoing-hosts.ts";

const signal = new AbortController().signal;

interface Call {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: unknown;
}

/** A stub of an API: answers by method and path, with what its documentation shows. */
async function startStub(
  answers: (call: Call) => { readonly status?: number; readonly data?: unknown } | undefined,
) {
  const calls: Call[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = (await buffer(request)).toString("utf8");
    const call: Call = {
      method: request.method ?? "",
      path: request.url ?? "",
      authorization: request.headers.authorization,
      body: text === "" ? undefined : (JSON.parse(text) as unknown),
    };
    calls.push(call);
    const { status = 200, data = { message: "Not Found" } } = answers(call) ?? { status: 404 };
    response.writeHead(status, { location: "http://127.0.0.1:1/" }).end(JSON.stringify(data));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = createHostedProvider({
    kind: "github",
    apiUrl,
    repository: "acme/infra",
    token: "ghp_x",
    hosts: new OutgoingHosts(["127.0.0.1"]),
  });
  return { calls, provider };
}

const PULL = {
  number: 7,
  state: "open",
  title: "Change",
  merged: false,
  // Of the test merge, as long as it is not merged.
  merge_commit_sha: "e".repeat(40),
  user: { login: "ann" },
  head: { ref: "change", sha: "a".repeat(40), repo: { full_name: "acme/infra" } },
  base: { ref: "main", sha: "b".repeat(40), repo: { full_name: "Acme/Infra" } },
};

describe("the API of GitHub", () => {
  it("says how a pull request is, forks among them", async () => {
    let pull: object = PULL;
    const { provider, calls } = await startStub(({ path }) =>
      path === "/repos/acme/infra/pulls/7" ? { data: pull } : undefined,
    );
    expect(await provider.pullRequest("7", signal)).toEqual({
      title: "Change",
      author: "ann",
      base: "main",
      head: "a".repeat(40),
      reference: "refs/pull/7/head",
      branch: "refs/heads/change",
      fork: false,
      state: "open",
    });
    pull = { ...PULL, state: "closed", merged: true };
    expect(await provider.pullRequest("7", signal)).toMatchObject({
      state: "merged",
      mergeCommit: "e".repeat(40),
    });
    // That of a deleted repository is null.
    for (const repo of [{ full_name: "eve/infra" }, null]) {
      pull = { ...PULL, head: { ...PULL.head, repo } };
      expect(await provider.pullRequest("7", signal)).toMatchObject({ fork: true });
    }
    expect(await provider.pullRequest("8", signal)).toBeUndefined();
    expect(calls[0]?.authorization).toBe("Bearer ghp_x");
  });

  it("keeps one comment, found by its marker, and writes it again where it was deleted", async () => {
    const comments = [{ id: 3, body: "hello" }];
    const { provider, calls } = await startStub(({ method, path, body }) => {
      if (method === "GET") return { data: comments };
      const { body: text } = body as { body: string };
      if (method === "POST") {
        comments.push({ id: 10 + comments.length, body: text });
        return { status: 201, data: comments.at(-1) };
      }
      const found = comments.find(({ id }) => path.endsWith(`/comments/${id}`));
      return found === undefined ? undefined : { data: Object.assign(found, { body: text }) };
    });
    const write = async (commentId: string, text: string) =>
      provider.writeComment("7", { commentId, marker: "<!-- m -->", text }, signal);
    expect(await write("", "<!-- m --> one")).toBe("11");
    // The answer was lost.
    expect(await write("", "<!-- m --> two")).toBe("11");
    expect(await write("11", "<!-- m --> three")).toBe("11");
    expect(comments.map(({ body }) => body)).toEqual(["hello", "<!-- m --> three"]);
    comments.pop();
    expect(await write("11", "<!-- m --> four")).toBe("11");
    expect(calls.at(-1)).toMatchObject({
      method: "POST",
      path: "/repos/acme/infra/issues/7/comments",
    });
  });

  it("writes statuses, and asks for permissions and reviews", async () => {
    const head = "a".repeat(40);
    const review = (login: string, state: string, commit = head) => ({
      user: { login },
      state,
      commit_id: commit,
    });
    const { provider, calls } = await startStub(({ path }) => {
      if (path.includes("/statuses/")) return { status: 201, data: {} };
      if (path.endsWith("/collaborators/bob/permission")) return { data: { permission: "write" } };
      if (path.endsWith("/collaborators/eve/permission")) return { data: { permission: "read" } };
      if (!path.includes("/reviews")) return undefined;
      return {
        data: [
          review("bob", "APPROVED"),
          review("bob", "COMMENTED"),
          review("ann", "APPROVED"),
          review("old", "APPROVED", "c".repeat(40)),
          review("back", "APPROVED"),
          review("back", "CHANGES_REQUESTED"),
        ],
      };
    });
    const status = { context: "stackwright/plan", state: "success" as const, description: "done" };
    await provider.writeStatus({ commit: head, ...status }, signal);
    expect(calls[0]).toMatchObject({ path: `/repos/acme/infra/statuses/${head}`, body: status });
    expect(await provider.mayWrite("bob", signal)).toBe(true);
    expect(await provider.mayWrite("eve", signal)).toBe(false);
    expect(await provider.mayWrite("../../user", signal)).toBe(false);
    expect(calls.at(-1)?.path).toContain("..%2F..%2Fuser");
    expect(await provider.approvers("7", { head, author: "ann" }, signal)).toEqual(["bob"]);
  });

  it("tells a token that makes too many requests from one that is not allowed to ask", async () => {
    let message = "API rate limit exceeded for user ID 1.";
    const { provider } = await startStub(() => ({ status: 403, data: { message } }));
    await expect(provider.mayWrite("bob", signal)).rejects.toMatchObject({ status: 429 });
    message = "Resource not accessible by integration";
    await expect(provider.mayWrite("bob", signal)).rejects.toMatchObject({ status: 403 });
  });

  it("says what was refused, and follows no redirect", async () => {
    const { provider } = await startStub(({ path }) =>
      path.endsWith("/7") ? { status: 302, data: {} } : { status: 422, data: { message: "no" } },
    );
    await expect(provider.pullRequest("7", signal)).rejects.toMatchObject({ status: 302 });
    await expect(provider.pullRequest("8", signal)).rejects.toThrow("422, no");
  });
});
