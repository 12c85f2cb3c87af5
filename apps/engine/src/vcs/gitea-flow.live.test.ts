import { expect, it } from "vitest";
import { createGitPlace } from "../testing/git-place.ts";
import { P, startApi } from "../testing/start-api.ts";
import { giteaProgram, startGitea } from "../testing/start-gitea.ts";

const program = giteaProgram();

it("plans a pull request of Gitea, applies it by a comment, and runs nothing for a fork", {
  timeout: 240_000,
}, async (context) => {
  if (program === undefined) {
    context.skip("TEST_TOOL_GITEA and TEST_POSTGRES_URL are not set");
    return;
  }
  const gitea = await startGitea(program);
  await expect.poll(gitea.isUp, { timeout: 60_000 }).toBe(true);
  await gitea.call("ann", "POST", "/user/repos", {
    name: "infra",
    private: true,
    default_branch: "main",
  });
  const repository = "/repos/ann/infra";
  await gitea.call("ann", "PUT", `${repository}/collaborators/bot`, { permission: "admin" });

  const place = await createGitPlace();
  const address = new URL(`${gitea.url}/ann/infra.git`);
  address.username = "ann";
  address.password = gitea.tokens["ann"] ?? "";
  await place.git("remote", "set-url", "origin", String(address));
  await place.commit({ "README.md": "infra" });
  await place.git("push", "--quiet", "origin", "main");

  const { server, call } = await startApi("in-process", { vcsHosts: ["127.0.0.1"] });
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const made = await call("POST", `${P}/vcs-connections`, {
    body: {
      name: "infra",
      kind: "gitea",
      repository_url: `${gitea.url}/ann/infra.git`,
      api_url: `${gitea.url}/api/v1`,
      repository: "ann/infra",
      token: gitea.tokens["bot"],
      apply: "on_comment",
      required_reviews: 1,
      stacks: [{ stack: "one", directory: "live/one" }],
    },
  });
  expect([made.status, made.text]).toEqual([201, made.text]);
  expect(made.text).not.toContain(gitea.tokens["bot"]);
  await gitea.call("ann", "POST", `${repository}/hooks`, {
    type: "gitea",
    active: true,
    events: ["push", "pull_request", "pull_request_sync", "issue_comment", "pull_request_comment"],
    config: {
      url: server.url + String(made.json["webhook_path"]),
      content_type: "json",
      secret: String(made.json["webhook_secret"]),
    },
  });
  const connection = `${P}/vcs-connections/infra`;
  const settled = async () => {
    const tasks = async () => (await call("GET", `${connection}/tasks`)).json["tasks"];
    await expect.poll(tasks, { timeout: 60_000 }).toEqual([]);
  };
  await settled();

  await place.git("checkout", "--quiet", "-b", "words");
  await place.commit({ "live/one/main.tf": 'resource "terraform_data" "a" { input = "word" }\n' });
  await place.git("push", "--quiet", "origin", "words");
  const opened = await gitea.call("ann", "POST", `${repository}/pulls`, {
    title: "words @ann",
    head: "words",
    base: "main",
  });
  const number = Number(opened["number"]);
  const comments = async (): Promise<readonly string[]> => {
    const all = (await gitea.call(
      "ann",
      "GET",
      `${repository}/issues/${number}/comments`,
    )) as unknown;
    return (all as { body: string; user: { login: string } }[]).flatMap(({ body, user }) =>
      user.login === "bot" ? [body] : [],
    );
  };
  const shows = async (text: string) => {
    await expect
      .poll(async () => (await comments()).join("\n"), { timeout: 60_000 })
      .toContain(text);
    // Always the same comment.
    expect(await comments()).toHaveLength(1);
  };
  await shows("| `one` | 1 to add, 0 to change, 0 to destroy, run 1 |");
  const head = await place.git("rev-parse", "HEAD");
  const statusOf = async (context: string) => {
    const { statuses } = await gitea.call("ann", "GET", `${repository}/commits/${head}/status`);
    return (statuses as { context: string; status: string }[]).find(
      (one) => one.context === context,
    )?.status;
  };
  await expect.poll(() => statusOf("stackwright/plan"), { timeout: 30_000 }).toBe("success");

  const say = async (user: "ann" | "bot", body: string) =>
    gitea.call(user, "POST", `${repository}/issues/${number}/comments`, { body });
  await say("ann", "stackwright apply");
  await shows("0 of 1 approving reviews");
  await gitea.call("bot", "POST", `${repository}/pulls/${number}/reviews`, {
    event: "APPROVED",
    body: "fine",
  });
  await say("ann", "stackwright apply");
  await shows("| `one` | 1 to add, 0 to change, 0 to destroy, run 1 | applied, run 2 |");
  await settled();
  expect(await statusOf("stackwright/apply")).toBe("success");

  await gitea.call("ann", "POST", `${repository}/pulls/${number}/merge`, { Do: "squash" });
  await shows("no changes, run 3");
  await settled();
  expect((await call("GET", `${connection}/pull-requests/${number}`)).json).toMatchObject({
    state: "merged",
    title: "words @ann",
  });

  // Of a fork nothing is run, also not for a comment.
  await gitea.call("ann", "PATCH", repository, { private: false });
  await gitea.call("bot", "POST", `${repository}/forks`, { name: "fork" });
  await gitea.call("bot", "PUT", "/repos/bot/fork/contents/live/one/main.tf", {
    content: Buffer.from('output "x" { value = 1 }\n').toString("base64"),
    branch: "main",
    sha: String(
      (await gitea.call("bot", "GET", "/repos/bot/fork/contents/live/one/main.tf"))["sha"],
    ),
  });
  const fork = await gitea.call("bot", "POST", `${repository}/pulls`, {
    title: "fork",
    head: "bot:main",
    base: "main",
  });
  const path = `${connection}/pull-requests/${Number(fork["number"])}`;
  await expect
    .poll(async () => (await call("GET", path)).json["fork"], { timeout: 30_000 })
    .toBe(true);
  await gitea.call("ann", "POST", `${repository}/issues/${Number(fork["number"])}/comments`, {
    body: "stackwright plan",
  });
  await settled();
  expect((await call("GET", path)).json).toMatchObject({ fork: true, plans: [] });
  expect((await call("GET", `${P}/stacks/one/runs`)).json["runs"]).toHaveLength(3);

  // So it is for what is on no branch: every reader can make such a pull request.
  await place.git("checkout", "--quiet", "-b", "topic");
  await place.commit({ "live/one/main.tf": 'output "x" { value = 2 }\n' });
  await place.git("push", "--quiet", "origin", "HEAD:refs/for/main", "-o", "topic=topic");
  const pulls = (await gitea.call("ann", "GET", `${repository}/pulls?state=open`)) as unknown;
  const topic = (pulls as { number: number }[]).find((one) => one.number !== fork["number"]);
  const topicPath = `${connection}/pull-requests/${topic?.number}`;
  await expect
    .poll(async () => (await call("GET", topicPath)).json["fork"], { timeout: 30_000 })
    .toBe(true);
  await settled();
  expect((await call("GET", `${P}/stacks/one/runs`)).json["runs"]).toHaveLength(3);
});
