import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { BootstrapCredentials } from "../bootstrap.ts";
import { createGitPlace } from "../testing/git-place.ts";
import { startServerProcess } from "../testing/start-server-process.ts";

const MAIN = join(import.meta.dirname, "../main.ts");
const STACKS = ["one", "two", "three", "four", "five", "six"];

it("a server that is killed while it works for a delivery leaves nothing undone, and does nothing twice", {
  timeout: 150_000,
}, async () => {
  const place = await createGitPlace();
  const words = ["--store", "sqlite:data", "--bootstrap-file", "first.json", "--executor", "none"];
  const args = [...words, "--vcs-folder", "repositories"];
  const start = async () => startServerProcess(MAIN, args, { cwd: place.folder });
  let server = await start();
  const first = JSON.parse(
    await readFile(join(place.folder, "first.json"), "utf8"),
  ) as BootstrapCredentials;
  const call = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${server.url}/api/v1/projects/web${path}`, {
      method,
      headers: { authorization: `Bearer ${first.token}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return (await answer.json()) as Record<string, unknown>;
  };
  for (const name of STACKS) await call("POST", "/stacks", { name });
  const secret = "a-secret-of-the-webhook";
  await call("POST", "/vcs-connections", {
    name: "infra",
    kind: "generic",
    repository_url: `file://${place.bare}`,
    webhook_secret: secret,
    stacks: STACKS.map((stack) => ({ stack, directory: stack })),
  });
  const tasks = async () => (await call("GET", "/vcs-connections/infra/tasks"))["tasks"];
  await expect.poll(tasks, { timeout: 30_000 }).toEqual([]);
  const text = 'resource "terraform_data" "a" {}\n';
  await place.commit(Object.fromEntries(STACKS.map((name) => [`${name}/main.tf`, text])));
  await place.git("push", "--quiet", "origin", "main");
  const body = JSON.stringify({ ref: "refs/heads/main", time: Date.now() / 1_000 });
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  const deliver = async () =>
    fetch(`${server.url}/hooks/vcs/default/web/infra`, {
      method: "POST",
      body,
      headers: { "x-stackwright-signature": `sha256=${signature}` },
    });
  const countRuns = async (): Promise<number[]> => {
    const counts = STACKS.map(async (name) => {
      const { runs } = await call("GET", `/stacks/${name}/runs`);
      return (runs as unknown[]).length;
    });
    return Promise.all(counts);
  };
  expect((await deliver()).status).toBe(202);
  // In the middle: some runs are there, others are not.
  await expect
    .poll(async () => (await countRuns()).some((count) => count > 0), {
      interval: 5,
      timeout: 30_000,
    })
    .toBe(true);
  server.child.kill("SIGKILL");
  await server.ended;
  server = await start();
  // The sender had no answer, so to speak.
  expect((await deliver()).status).toBe(202);
  await expect.poll(tasks, { timeout: 60_000 }).toEqual([]);
  expect(await countRuns()).toEqual(STACKS.map(() => 1));
});
