import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServerClient, type Run } from "@stackwright/client";
import { expect, it, onTestFinished } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

/** Keys of `b` are known after `a`, those of `c` after `b`. */
const CHAIN = `
resource "terraform_data" "a" { input = ["x", "y"] }
resource "terraform_data" "b" {
  for_each = toset(terraform_data.a.output)
  input    = each.key
}
resource "terraform_data" "c" {
  for_each = toset([for b in terraform_data.b : "\${b.output}!"])
  input    = each.key
}
output "last" { value = [for c in terraform_data.c : c.output] }
`;

async function start() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "staged-runs-"));
  onTestFinished(() => scratch.remove());
  const cwd = join(scratch.path, "stack");
  await mkdir(cwd);
  const { server, token } = await startServer("in-process");
  const run = async (...words: string[]) =>
    tryCommand(words, {
      cwd,
      env: { HOME: scratch.path, STACKWRIGHT_SERVER: server.url, STACKWRIGHT_TOKEN: token },
    });
  return {
    run,
    start: async (...words: string[]) => run("runs", "start", "--stack", "web/one", ...words),
    write: async (text: string) => writeFile(join(cwd, "main.tf"), text),
    client: createServerClient({ server: server.url, token }),
    place: { project: "web", stack: "one" },
  };
}

it("a run in stages is followed by one run for each further stage", {
  timeout: 120_000,
}, async () => {
  const { start: begin, run, write, client, place } = await start();
  await write(CHAIN);
  const made = await begin("--staged", "--yes");
  expect([made.code, made.error]).toEqual([0, ""]);
  expect(made.output).toContain("This plan is a stage: 2 parts are left to the next one.");
  expect(made.output).toContain("Stage 2: run 2 (");
  expect(made.output).toContain("Stage 3: run 3 (");
  expect(made.output).not.toContain("Stage 4");
  const { runs } = (await client.listRuns(place)).data;
  expect(runs.map(({ phase, stage }) => [phase, stage?.number, stage?.left])).toEqual([
    ["applied", 1, ["terraform_data.b", "terraform_data.c"]],
    ["applied", 2, ["terraform_data.c"]],
    ["applied", 3, []],
  ]);
  const [first, second, third] = runs as [Run, Run, Run];
  expect([first.stage?.next, second.stage?.next]).toEqual([second.id, third.id]);
  expect([second.stage?.previous, third.stage?.previous]).toEqual([first.id, second.id]);
  expect([third.stage?.next, third.cause]).toEqual([undefined, `stage:${second.id}`]);
  const again = await begin("--staged", "--yes");
  expect([again.code, again.error]).toEqual([0, ""]);
  expect((await client.listRuns(place)).data.runs.map(({ phase }) => phase).at(-1)).toBe(
    "no_changes",
  );
  expect((await run("runs", "show", "--stack", "web/one", "--json")).output).toContain('"stage"');
});

it("each stage has its own approval, and what comes from no apply fails", {
  timeout: 120_000,
}, async () => {
  const { start: begin, write, client, place } = await start();
  await write(CHAIN);
  // Without a terminal the command ends where the run waits.
  expect((await begin("--staged")).code).toBe(2);
  const phases = async () => (await client.listRuns(place)).data.runs.map(({ phase }) => phase);
  const last = async () => (await client.listRuns(place)).data.runs.at(-1) as Run;
  const { id, plan_digest: digest = "" } = await last();
  await client.approveRun({ ...place, run: id, body: { plan_digest: digest } });
  const waiting = { timeout: 60_000, interval: 50 };
  await expect.poll(phases, waiting).toEqual(["applied", "awaiting_approval"]);
  // A stage that is discarded ends the stages.
  await client.discardRun({ ...place, run: (await last()).id, body: {} });
  expect(await phases()).toEqual(["applied", "discarded"]);
  // Requested again, the run of a stage begins stages of its own.
  await client.retryRun({ ...place, run: (await last()).id, body: { auto_apply: true } });
  await expect.poll(phases, waiting).toEqual(["applied", "discarded", "applied", "applied"]);
  await write(`
resource "terraform_data" "a" { input = timestamp() }
resource "terraform_data" "b" { for_each = toset([terraform_data.a.output]) }
`);
  const stuck = await begin("--staged", "--yes");
  expect(stuck.code).toBe(1);
  expect(await last()).toMatchObject({
    phase: "failed",
    reason_code: "stage_stuck",
    reason: expect.stringContaining(
      "stage 2 leaves all that the one before left: terraform_data.b",
    ),
  });
});

it("only a run that applies its configuration has stages", { timeout: 60_000 }, async () => {
  const { start: begin, write, client, place } = await start();
  await write(CHAIN);
  for (const option of ["--destroy", "--plan-only", "--refresh-only"]) {
    const refused = await begin("--staged", option);
    expect([refused.code, refused.error]).toEqual([
      1,
      expect.stringContaining("--staged goes with a run that applies its configuration."),
    ]);
  }
  await begin("--yes", "--plan-only");
  const [made] = (await client.listRuns(place)).data.runs;
  for (const mode of ["destroy", "plan_only", "refresh_only"] as const) {
    const body = { configuration: made?.configuration ?? "", mode, staged: true };
    await expect(client.createRun({ ...place, body })).rejects.toMatchObject({
      code: "unprocessable",
    });
  }
});
