import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { P } from "../testing/start-api.ts";
import type { startFakeGitea } from "../testing/start-fake-gitea.ts";
import { startPullRequest } from "../testing/start-pull-request.ts";

const TIMEOUT = { timeout: 25_000 };
const main = (value: number) => `resource "terraform_data" "a" { input = ${value} }\n`;

type Settings = Parameters<typeof startPullRequest>[0];

const start = async (settings: Omit<Settings, "text"> = {}) =>
  startPullRequest({ ...settings, text: main(1) });

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
  const { settled, say, merge, pull } = await start();
  await say("merge", "stackwright apply");
  await settled();
  const before = await pull();
  expect(before).toMatchObject({ apply_requested_by: "merge", applied_by_merge: false });
  await merge();
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

const WAITS = /run 1 \| waits for approval on the server, run 2 \|/;

it("applies a merge that has the reviews it needs, of the newest commit and of users who may write", {
  timeout: 120_000,
}, async () => {
  const { place, gitea, settled, push, look, merge } = await start({
    apply: "on_merge",
    required_reviews: 1,
  });
  expect(gitea.shown.comment).toContain("and the newest commit has an approving review.");
  await place.commit({ "one/main.tf": main(2) });
  await push();
  await look();
  await settled();
  gitea.review("cleo");
  await merge();
  await settled();
  expect(gitea.shown.comment).toMatch(/run 2 \| applied, run 3 \|/);
});

it.each([
  ["none of them", () => undefined],
  ["one of its author", ({ review }) => review("ann")],
  ["one of a user who may only read", ({ review }) => review("reader")],
  ["one of an older commit", ({ review }) => review("cleo", "f".repeat(40))],
  [
    "one that was taken back",
    ({ review, shown }) => {
      review("cleo");
      review("cleo", shown.head, "REQUEST_CHANGES");
    },
  ],
] satisfies readonly [string, (gitea: Awaited<ReturnType<typeof startFakeGitea>>) => void][])(
  "leaves a merge without the reviews it needs to the server: with %s",
  { timeout: 60_000 },
  async (_what, prepare) => {
    const { gitea, look, say, merge, pull } = await start({
      apply: "on_merge",
      required_reviews: 1,
    });
    gitea.readers.add("reader");
    prepare(gitea);
    await merge();
    const how = "stackwright runs approve 2 --stack web/one";
    await expect
      .poll(() => gitea.shown.comment, TIMEOUT)
      .toContain(`0 of 1 approving reviews of the newest commit: ${how}`);
    expect(gitea.shown.comment).toMatch(WAITS);
    // What is said later changes nothing.
    gitea.review("cleo");
    await look();
    await say("ben", "stackwright apply");
    await expect
      .poll(async () => (await pull())["note"], TIMEOUT)
      .toBe("Nothing was applied: plans of merged commits are approved on the server.");
    expect(gitea.shown.comment).toMatch(WAITS);
  },
);

it.each([
  ["ben", /run 1 \| applied, run 2 \|/],
  ["ann", /who merged is not one of the appliers: stackwright runs approve 2 --stack web\/one/],
  ["", /the Git server does not say who merged: stackwright runs approve 2/],
])(
  'applies the merge of the appliers alone: that of "%s"',
  { timeout: 60_000 },
  async (user, said) => {
    const { gitea, merge } = await start({ apply: "on_merge", appliers: ["ben"] });
    await merge(user);
    await expect.poll(() => gitea.shown.comment, TIMEOUT).toMatch(said);
  },
);

it("applies what was merged without the reviews it needs by no comment", {
  timeout: 60_000,
}, async () => {
  const { gitea, settled, say, merge } = await start({ required_reviews: 1 });
  await merge();
  await expect.poll(() => gitea.shown.comment, TIMEOUT).toContain("waits for approval, run 2");
  await say("ben", "stackwright apply");
  await expect
    .poll(() => gitea.shown.comment, TIMEOUT)
    .toContain("Nothing was applied: 0 of 1 approving reviews of the newest commit.");
  gitea.review("cleo");
  await say("ben", "stackwright apply");
  await settled();
  expect(gitea.shown.comment).toMatch(/run 1 \| applied, run 2 \|/);
});
