import { createHmac } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createGitPlace } from "../testing/git-place.ts";
import { P, startApi } from "../testing/start-api.ts";
import { startFakeGitea } from "../testing/start-fake-gitea.ts";

const SECRET = "a-secret-of-the-webhook";
const TIMEOUT = { timeout: 25_000 };
const main = (value: number) => `resource "terraform_data" "a" { input = ${value} }\n`;

/** A pull request at a Git server that was looked at once, which plans it unless it comes from a fork. */
async function start({ isFork = false } = {}) {
  const place = await createGitPlace();
  const gitea = await startFakeGitea("change");
  gitea.shown.isFork = isFork;
  const { server, call, directory } = await startApi("in-process", {
    vcsFolders: [place.repositories],
    vcsHosts: ["127.0.0.1"],
  });
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
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
  const pull = async () => (await call("GET", `${connection}/pull-requests/1`)).json;
  await settled();
  await place.git("checkout", "--quiet", "-b", "change");
  await place.commit({ "one/main.tf": main(1) });
  await push();
  await look();
  await settled();
  const expected = isFork ? "forks are not planned" : "1 to add, 0 to change, 0 to destroy, run 1";
  expect(gitea.shown.comment).toContain(expected);
  return { directory, place, gitea, call, deliver, settled, push, look, say, pull };
}

it("applies no plans by a comment that were made after it", { timeout: 120_000 }, async () => {
  const { place, gitea, settled, push, look, say, pull } = await start();
  // The newest commit is not planned yet when the comment comes, but when it is carried out.
  await place.commit({ "one/main.tf": main(2) });
  await push();
  await say("ben", "stackwright apply");
  await settled();
  expect(gitea.shown.comment).toContain("Nothing was applied");
  await look();
  await settled();
  expect(await pull()).toMatchObject({ head: gitea.shown.head, applies: [] });
  // It was written before the plans, and comes late.
  await say("ben", "stackwright apply", 3_600_000);
  await settled();
  expect(gitea.shown.comment).toContain("were not there when the comment was written");
  expect(await pull()).toMatchObject({ applies: [] });
  await say("ben", "stackwright apply");
  await settled();
  expect(gitea.shown.comment).toMatch(
    /1 to add, 0 to change, 0 to destroy, run \d \| applied, run \d/,
  );
});

it("takes a user called merge for a user", { timeout: 120_000 }, async () => {
  const { place, gitea, deliver, settled, look, say, pull } = await start();
  await say("merge", "stackwright apply");
  await settled();
  const before = await pull();
  expect(before).toMatchObject({ apply_requested_by: "merge", applied_by_merge: false });
  await place.git("checkout", "--quiet", "main");
  await place.git("merge", "--quiet", "--no-ff", "--message", "merge", "change");
  await place.git("push", "--quiet", "origin", "main");
  gitea.shown.mergeCommit = await place.git("rev-parse", "HEAD");
  gitea.shown.merged = true;
  await deliver("push", { ref: "refs/heads/main" });
  await look();
  await settled();
  const after = await pull();
  expect(after).toMatchObject({ state: "merged", applied_by_merge: true });
  expect(after["applies"]).not.toEqual(before["applies"]);
});

it("applies what was planned where the copy of the repository is gone", {
  timeout: 120_000,
}, async () => {
  const { directory, place, gitea, settled, push, look, say } = await start();
  await place.git("checkout", "--quiet", "main");
  await place.commit({ "other.txt": "so that the plan is that of a merge" });
  await place.git("push", "--quiet", "origin", "HEAD:main");
  await place.git("checkout", "--quiet", "change");
  await place.commit({ "one/main.tf": main(2) });
  await push();
  await look();
  await settled();
  const copies = (await readdir(directory, { recursive: true })).filter((name) =>
    /vcs\/[^/]+\.git$/.test(name),
  );
  expect(copies).toHaveLength(1);
  for (const copy of copies) await rm(join(directory, copy), { recursive: true });
  await say("ben", "stackwright apply");
  await settled();
  expect(gitea.shown.comment).toMatch(
    /1 to add, 0 to change, 0 to destroy, run \d \| applied, run \d/,
  );
});

it("runs nothing for a pull request from a fork, at any request", {
  timeout: 120_000,
}, async () => {
  const { place, gitea, call, settled, push, look, say, pull } = await start({ isFork: true });
  await place.commit({ "one/main.tf": 'output "x" { value = "of a stranger" }\n' });
  await push();
  await look();
  // Of one who may write to the repository, too.
  for (const words of ["stackwright plan", "stackwright apply"]) await say("ben", words);
  await settled();
  expect(await pull()).toMatchObject({ fork: true, plans: [], applies: [] });
  expect((await call("GET", `${P}/stacks/one/runs`)).json["runs"]).toEqual([]);
  expect(gitea.shown.comment).toContain("forks are not planned");
  expect(gitea.shown.comment).not.toContain("of a stranger");
  expect([...gitea.statuses.keys()]).toEqual(["stackwright/plan"]);
  // It stays one, whatever the server says of it later.
  gitea.shown.isFork = false;
  await look();
  await settled();
  expect(await pull()).toMatchObject({ fork: true, plans: [] });
});

it("plans a pull request again that was closed, or was for another branch", {
  timeout: 120_000,
}, async () => {
  const { gitea, settled, look, say, pull } = await start();
  gitea.shown.closed = true;
  await look();
  await settled();
  expect(await pull()).toMatchObject({ state: "closed" });
  gitea.shown.closed = false;
  await look();
  await settled();
  expect(gitea.shown.comment).toContain("1 to add, 0 to change, 0 to destroy, run 2");
  gitea.shown.base = "release";
  await look();
  await settled();
  expect(await pull()).toMatchObject({ state: "closed" });
  expect(gitea.shown.comment).toContain("and not for `main`");
  await say("ben", "stackwright apply");
  await settled();
  expect(await pull()).toMatchObject({ applies: [] });
  gitea.shown.base = "main";
  await look();
  await settled();
  expect(gitea.shown.comment).toContain("1 to add, 0 to change, 0 to destroy, run 3");
  await say("ben", "stackwright apply");
  await settled();
  expect(gitea.shown.comment).toMatch(/run 3 \| applied, run 4/);
});

it("plans the newest commit where the repository has it later than the API says", {
  timeout: 120_000,
}, async () => {
  const { place, gitea, call, look, settled, pull } = await start();
  await place.commit({ "one/main.tf": main(2) });
  gitea.shown.head = await place.git("rev-parse", "HEAD");
  await look();
  const tasks = async () =>
    (await call("GET", `${P}/vcs-connections/infra/tasks`)).json["tasks"] as unknown[];
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(await tasks()).toHaveLength(1);
  await place.git("push", "--quiet", "origin", "HEAD:change", "HEAD:refs/pull/1/head");
  await settled();
  expect(await pull()).toMatchObject({ head: gitea.shown.head });
  expect(gitea.shown.comment).toContain("1 to add, 0 to change, 0 to destroy, run 2");
});
