import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { P } from "../testing/start-api.ts";
import { startPullRequest } from "../testing/start-pull-request.ts";

const TERRAFORM = process.env["STACKWRIGHT_TERRAFORM"] ?? "/usr/local/bin/terraform";

const text = (word: string): string => `resource "terraform_data" "a" { input = "${word}" }
output "word" { value = terraform_data.a.output }
`;

it("plans a pull request by terraform with the engine beside it, applies its merge by terraform, and goes over to the engine without a difference", {
  timeout: 240_000,
}, async (context) => {
  const { status } = spawnSync(TERRAFORM, ["version"]);
  context.skip(status !== 0, `${TERRAFORM} cannot be run on this machine`);
  const { place, gitea, call, settled, push, look, merge } = await startPullRequest({
    apply: "on_merge",
    required_reviews: 1,
    shadowedTool: `terraform=${TERRAFORM}`,
    text: text("first"),
  });
  const stack = `${P}/stacks/one`;
  await expect.poll(() => gitea.shown.comment, { timeout: 60_000 }).toContain("shadow: equal");
  gitea.review("cleo");
  await merge();
  await settled();
  expect(gitea.shown.comment).toMatch(/run 1; shadow: equal \| applied, run \d/);
  const versions = await call("GET", `${stack}/state-versions`);
  expect(versions.text).toContain('"terraform_version":"1.');

  // What is the same plans empty, by both.
  await place.git("checkout", "--quiet", "-B", "change");
  await place.commit({ "one/notes.md": "notes" });
  await push();
  Object.assign(gitea.shown, { merged: false, mergeCommit: "" });
  await look();
  await settled();
  const runs = async () =>
    ((await call("GET", `${stack}/runs`)).json["runs"] as { phase: string; tool: string }[]).filter(
      ({ tool }) => tool === "terraform",
    );
  expect((await runs()).map(({ phase }) => phase)).toContain("no_changes");
  const shown = (await call("GET", `${stack}/tool`)).json;
  expect(shown).toMatchObject({ tool: "terraform", can_adopt: true });

  // From here on the engine plans and applies, of the same state.
  const changed = await call("PATCH", `${stack}/tool`, {
    body: { tool: "stackwright", shadow: false },
  });
  expect([changed.status, changed.json["tool"]]).toEqual([200, "stackwright"]);
  await place.commit({ "one/more.md": "notes" });
  await push();
  await look();
  await settled();
  const all = (await call("GET", `${stack}/runs`)).json["runs"] as {
    phase: string;
    tool: string;
  }[];
  expect(all).toContainEqual(
    expect.objectContaining({ tool: "stackwright", mode: "plan_only", phase: "no_changes" }),
  );
});
