import { createHmac } from "node:crypto";
import { expect } from "vitest";
import { createGitPlace } from "./git-place.ts";
import { P, startApi } from "./start-api.ts";
import { startFakeGitea } from "./start-fake-gitea.ts";

const SECRET = "a-secret-of-the-webhook";
const TIMEOUT = { timeout: 60_000 };

interface Settings {
  readonly isFork?: boolean;
  readonly apply?: "on_merge" | "on_comment";
  readonly required_reviews?: number;
  readonly appliers?: readonly string[];
  /** A program, such as `terraform=/usr/bin/terraform`, that plans and applies the stack while the engine plans beside it. @default none */
  readonly shadowedTool?: string;
  /** The root module of the pull request. */
  readonly text: string;
}

/** A pull request at a Git server that was looked at once, which plans it unless it comes from a fork. */
export async function startPullRequest({
  isFork = false,
  shadowedTool,
  text: firstText,
  ...settings
}: Settings) {
  const place = await createGitPlace();
  const gitea = await startFakeGitea("change");
  gitea.shown.isFork = isFork;
  const { server, call, directory } = await startApi("in-process", {
    vcsFolders: [place.repositories],
    vcsHosts: ["127.0.0.1"],
    ...(shadowedTool !== undefined && { tools: [shadowedTool] }),
  });
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  if (shadowedTool !== undefined) {
    const [tool = ""] = shadowedTool.split("=");
    const body = { tool, shadow: true, adopt_after: 1 };
    const set = await call("PATCH", `${P}/stacks/one/tool`, { body });
    expect([set.status, set.text]).toEqual([200, set.text]);
  }
  await place.commit({ "README.md": "infra" });
  await place.git("push", "--quiet", "origin", "HEAD:main");
  const connection = `${P}/vcs-connections/infra`;
  const made = await call("POST", `${P}/vcs-connections`, {
    body: {
      name: "infra",
      kind: "gitea",
      repository_url: `file://${place.bare}`,
      api_url: gitea.url,
      repository: "acme/infra",
      webhook_secret: SECRET,
      token: "token",
      apply: "on_comment",
      required_reviews: 0,
      stacks: [{ stack: "one", directory: "one" }],
      ...settings,
    },
  });
  expect([made.status, made.text]).toEqual([201, made.text]);
  let count = 0;
  const deliver = async (event: string, body: object): Promise<void> => {
    count += 1;
    const text = JSON.stringify({ ...body, count, repository: { full_name: "acme/infra" } });
    const answer = await fetch(`${server.url}/hooks/vcs/default/web/infra`, {
      method: "POST",
      body: text,
      headers: {
        "content-type": "application/json",
        "x-gitea-event": event,
        "x-gitea-signature": createHmac("sha256", SECRET).update(text).digest("hex"),
      },
    });
    expect(answer.status).toBe(202);
  };
  const tasks = async () => (await call("GET", `${connection}/tasks`)).json["tasks"];
  const settled = async () => expect.poll(tasks, TIMEOUT).toEqual([]);
  const push = async (): Promise<void> => {
    await place.git("push", "--quiet", "origin", "HEAD:change", "HEAD:refs/pull/1/head");
    gitea.shown.head = await place.git("rev-parse", "HEAD");
  };
  const look = async () => deliver("pull_request", { number: 1 });
  const say = async (user: string, body: string, agoMs = 0) =>
    deliver("issue_comment", {
      action: "created",
      is_pull: true,
      issue: { number: 1 },
      comment: { user: { login: user }, body, created_at: new Date(Date.now() - agoMs) },
    });
  const merge = async (user = "ann"): Promise<void> => {
    await place.git("checkout", "--quiet", "main");
    await place.git("merge", "--quiet", "--no-ff", "--message", "merge", "change");
    await place.git("push", "--quiet", "origin", "main");
    gitea.shown.mergeCommit = await place.git("rev-parse", "HEAD");
    gitea.shown.merged = true;
    gitea.shown.mergedBy = user;
    await deliver("push", { ref: "refs/heads/main" });
    await look();
  };
  const pull = async () => (await call("GET", `${connection}/pull-requests/1`)).json;
  await settled();
  await place.git("checkout", "--quiet", "-b", "change");
  await place.commit({ "one/main.tf": firstText });
  await push();
  await look();
  await settled();
  const expected = isFork ? "forks are not planned" : "1 to add, 0 to change, 0 to destroy, run 1";
  expect(gitea.shown.comment).toContain(expected);
  return { directory, place, gitea, call, settled, push, look, say, merge, pull };
}
