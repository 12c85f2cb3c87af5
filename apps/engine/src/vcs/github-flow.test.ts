import { createHmac } from "node:crypto";
import { expect, it } from "vitest";
import { createGitPlace } from "../testing/git-place.ts";
import { GITHUB_REPOSITORY, type GithubBody, githubExample } from "../testing/github-examples.ts";
import { P, startApi } from "../testing/start-api.ts";
import { startFakeGithub } from "../testing/start-fake-github.ts";

// A pull request of GitHub from the push to the apply: with the bodies of webhooks that GitHub documents, in which what a test decides is replaced.

const SECRET = "a-secret-of-the-webhook";
const TOKEN = "github-token";
const TIMEOUT = { timeout: 25_000 };

async function start() {
  const place = await createGitPlace();
  const github = await startFakeGithub(TOKEN);
  const { server, call } = await startApi("in-process", {
    vcsFolders: [place.repositories],
    vcsHosts: ["127.0.0.1"],
  });
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  await place.commit({ "README.md": "infra" });
  await place.git("push", "--quiet", "origin", "HEAD:master");
  const made = await call("POST", `${P}/vcs-connections`, {
    body: {
      name: "infra",
      kind: "github",
      repository_url: `file://${place.bare}`,
      api_url: github.url,
      repository: GITHUB_REPOSITORY,
      branch: "master",
      webhook_secret: SECRET,
      token: TOKEN,
      apply: "on_comment",
      required_reviews: 1,
      stacks: [{ stack: "one", directory: "one" }],
    },
  });
  expect([made.status, made.text]).toEqual([201, made.text]);
  let deliveries = 0;
  const deliver = async (event: string, body: GithubBody, secret = SECRET) => {
    deliveries += 1;
    const text = JSON.stringify(body);
    const answer = await fetch(`${server.url}/hooks/vcs/default/web/infra`, {
      method: "POST",
      body: text,
      headers: {
        "content-type": "application/json",
        "user-agent": "GitHub-Hookshot/0000000",
        "x-github-event": event,
        "x-github-delivery": `72d3162e-cc78-11e3-81ab-4c9367dc09${String(deliveries).padStart(2, "0")}`,
        "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(text).digest("hex")}`,
      },
    });
    return [answer.status, ((await answer.json()) as { event?: string }).event];
  };
  const tasks = async () => (await call("GET", `${P}/vcs-connections/infra/tasks`)).json["tasks"];
  const settled = async () => expect.poll(tasks, TIMEOUT).toEqual([]);
  const pull = async () => (await call("GET", `${P}/vcs-connections/infra/pull-requests/2`)).json;
  const push = async (files: Readonly<Record<string, string>>): Promise<void> => {
    await place.commit(files);
    await place.git("push", "--quiet", "origin", "HEAD:changes", "HEAD:refs/pull/2/head");
    github.shown.head = await place.git("rev-parse", "HEAD");
  };
  await settled();
  return { place, github, call, deliver, settled, pull, push };
}

/** What was written now by a user below a pull request. */
function commentBody(login: string, body: string): GithubBody {
  const example = githubExample("issue_comment", ({ action }) => action === "created");
  const { issue, comment } = example as Readonly<Record<string, GithubBody>>;
  const at = "https://api.github.com/repos/Codertocat/Hello-World/pulls/2";
  return {
    ...example,
    issue: { ...issue, number: 2, pull_request: { url: at, html_url: at } },
    comment: { ...comment, body, user: { login }, created_at: new Date().toISOString() },
  };
}

const ofPullRequest = (action: string): GithubBody =>
  githubExample("pull_request", (body) => body["action"] === action);
const PUSH = githubExample("push", ({ ref }) => ref === "refs/heads/master");

it("plans a pull request of GitHub, applies it by a comment once it is approved, and follows its merge", {
  timeout: 120_000,
}, async () => {
  const { place, github, call, deliver, settled, pull, push } = await start();
  expect(await deliver("ping", githubExample("ping"))).toEqual([202, "ignored"]);
  await place.git("checkout", "--quiet", "-b", "changes");
  await push({ "one/main.tf": 'resource "terraform_data" "a" { input = 1 }\n' });
  expect(await deliver("pull_request", ofPullRequest("opened"))).toEqual([202, "pull_request"]);
  await settled();
  expect(github.shown.comment).toContain("| `one` | 1 to add, 0 to change, 0 to destroy, run 1 |");
  expect(github.statuses.get("stackwright/plan")).toMatch(/^success: /);

  await push({ "one/main.tf": 'resource "terraform_data" "a" { input = 2 }\n' });
  expect(await deliver("pull_request", ofPullRequest("synchronize"))).toEqual([
    202,
    "pull_request",
  ]);
  await settled();
  expect(github.shown.comment).toContain("run 2 |");

  const applies = commentBody("octocat", "stackwright apply");
  expect(await deliver("issue_comment", applies)).toEqual([202, "comment"]);
  await settled();
  expect(github.shown.comment).toContain("0 of 1 approving reviews");
  github.approve("hubot");
  expect(await deliver("issue_comment", commentBody("octocat", "stackwright apply"))).toEqual([
    202,
    "comment",
  ]);
  await settled();
  expect(github.shown.comment).toMatch(/run 2 \| applied, run 3 \|/);
  expect(github.statuses.get("stackwright/apply")).toMatch(/^success: /);

  await place.git("checkout", "--quiet", "master");
  await place.git("merge", "--quiet", "--no-ff", "--message", "merge", "changes");
  await place.git("push", "--quiet", "origin", "HEAD:master");
  github.shown.merged = true;
  github.shown.mergeCommit = await place.git("rev-parse", "HEAD");
  expect(await deliver("push", PUSH)).toEqual([202, "push"]);
  expect(await deliver("pull_request", ofPullRequest("closed"))).toEqual([202, "pull_request"]);
  await settled();
  expect(await pull()).toMatchObject({ id: "2", state: "merged", author: "Codertocat" });
  expect(github.shown.comment).toContain("no changes, run 4");
  expect((await call("GET", `${P}/stacks/one/runs`)).json["runs"]).toHaveLength(4);
  expect(github.refused).toEqual([]);
});

it("carries out nothing of a delivery with another signature, of another repository, or of another kind", {
  timeout: 60_000,
}, async () => {
  const { deliver, settled, pull, push } = await start();
  await push({ "one/main.tf": "" });
  const opened = ofPullRequest("opened");
  expect((await deliver("pull_request", opened, "another secret"))[0]).toBe(401);
  const repository = { ...(opened["repository"] as GithubBody), full_name: "mallory/Hello-World" };
  expect(await deliver("pull_request", { ...opened, repository })).toEqual([202, "ignored"]);
  for (const event of ["star", "fork", "issues", "workflow_run", "installation", "release"]) {
    const [status, said] = await deliver(event, githubExample(event));
    expect([event, status, said]).toEqual([event, 202, "ignored"]);
  }
  // Below an issue, and by one who changed a comment.
  const issue = githubExample("issue_comment", ({ action }) => action === "created");
  expect(await deliver("issue_comment", issue)).toEqual([202, "ignored"]);
  const edited = { ...commentBody("octocat", "stackwright apply"), action: "edited" };
  expect(await deliver("issue_comment", edited)).toEqual([202, "ignored"]);
  await settled();
  expect(await pull()).not.toHaveProperty("state");
});
