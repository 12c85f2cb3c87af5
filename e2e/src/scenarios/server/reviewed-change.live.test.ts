import { createHmac } from "node:crypto";
import { join } from "node:path";
import { expect, it } from "vitest";
import { callServer } from "../../environment/call-server.ts";
import { ServerStack } from "../../environment/server-stack.ts";
import { openPage } from "../../testing/chromium.ts";
import { GitWork } from "../../testing/git-work.ts";
import { waitFor } from "../../testing/wait-for.ts";
import { plain, storiesOfThisFile } from "../main-job/with-story.ts";

const begin = storiesOfThisFile();

/** Forbids resources with the name `bad`. */
const POLICIES = join(
  import.meta.dirname,
  "../../../../apps/engine/src/testing/policies/policies.tar.gz",
);
const resource = (name: string) => `resource "terraform_data" "${name}" { input = "reviewed" }\n`;

it("a pull request is planned, forbidden by a policy, improved, merged, and approved in the console", {
  timeout: 300_000,
}, async (context) => {
  const story = await begin();
  const { environment, provider: name, scratch } = story;
  const { page, errors } = await openPage(context);
  const { server } = environment;
  const stack = await ServerStack.create(environment, name);
  const person = story.administrator();
  const publish = ["policy", "publish", name, POLICIES, "--for", name];
  const published = await person.runs(...publish, "--entrypoint", "stackwright");
  expect(published.code, plain(published)).toBe(0);

  const repository = await environment.makeRepository(name);
  const work = await GitWork.begin(scratch, repository.folder);
  const project = "/api/v1/projects/default";
  const hook = await callServer<{ webhook_path: string; webhook_secret: string }>(
    server,
    "POST",
    `${project}/vcs-connections`,
    {
      name,
      kind: "generic",
      repository_url: repository.address,
      stacks: [{ stack: name, directory: "stack" }],
    },
  );
  const push = async (branch: string, files: Readonly<Record<string, string>>) => {
    await work.push(branch, files);
    const body = JSON.stringify({ ref: `refs/heads/${branch}`, time: Date.now() / 1000 });
    const signature = createHmac("sha256", hook.webhook_secret).update(body).digest("hex");
    const headers = { "x-stackwright-signature": `sha256=${signature}` };
    const answer = await fetch(server.url + hook.webhook_path, { method: "POST", body, headers });
    expect(answer.status).toBe(202);
  };
  const comment = async (text: string) => {
    let seen = "";
    await waitFor(
      `"${text}" in the comment`,
      async () => {
        const path = `${project}/vcs-connections/${name}/pull-requests/words/comment`;
        const answer = await fetch(server.url + path, {
          headers: { authorization: `Bearer ${server.credentials.token}` },
        });
        seen = await answer.text();
        return seen.includes(text);
      },
      { limitMs: 90_000, pollMs: 500, seen: () => seen },
    );
    return seen;
  };
  await push("main", { "README.md": "read me" });
  await work.run("checkout", "--quiet", "-b", "words");
  await push("words", { "stack/main.tf": resource("bad") });
  expect(await comment("1 to add, 0 to change, 0 to destroy")).toContain("terraform_data.bad");
  expect(await comment("is called bad")).toContain(name);
  await push("words", { "stack/main.tf": resource("good") });
  expect(await comment("terraform_data.good")).not.toContain("is called bad");

  // What was forbidden in the pull request is so after a merge, too.
  await work.run("checkout", "--quiet", "main");
  await push("main", { "stack/main.tf": resource("bad") });
  const forbidden = await stack.reaches("discarded");
  expect(forbidden).toMatchObject({ mode: "apply", reason_code: "policy_failed" });
  await work.run("reset", "--quiet", "--hard", "HEAD~1");
  await work.run("merge", "--quiet", "--no-ff", "--message", "merge words", "words");
  await work.run("push", "--quiet", "--force", "origin", "main");
  await push("main", { "README.md": "read me again" });
  const { id, number } = await stack.reaches("awaiting_approval");

  await page.goto(`${server.url}/console/`);
  await page.getByLabel("Token").fill(server.credentials.token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await page.goto(`${server.url}/console/p/default/s/${name}/r/${id}`);
  await page.getByText("terraform_data.good").first().waitFor();
  await page.getByRole("button", { name: "Approve…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Approve", exact: true }).click();
  await page.locator(".page-head .badge", { hasText: "applied" }).waitFor({ timeout: 90_000 });
  expect(errors).toEqual([]);
  expect(await stack.reaches("applied", number)).toMatchObject({ mode: "apply" });
  await comment(`applied, run ${number}`);
});
