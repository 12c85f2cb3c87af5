import { spawnSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { pageBlocks, startPageServer } from "../testing/page-blocks.ts";
import { createPageFolder } from "../testing/page-folder.ts";

// apps/engine/docs/access.md as a reader follows it: its commands as they are written there, with another port, and a receiver that is nowhere.

const PAGE = "apps/engine/docs/access.md";
const START = "stackwright runs start network --stack web/network";

describe("the page about access", { timeout: 180_000 }, () => {
  beforeEach((context) => {
    for (const program of ["curl", "jq"]) {
      const isThere = spawnSync(program, ["--version"]).status === 0;
      context.skip(!isThere, `the commands of the page need ${program}, which is not installed`);
    }
  });

  /** A reader with a new server. */
  async function begin() {
    const page = await createPageFolder();
    const [serve = "", ...rest] = await pageBlocks(PAGE, "sh");
    expect(rest).toHaveLength(5);
    const { here } = await startPageServer(serve, page);
    const [walk = "", requests = "", accounts = "", trail = "", webhooks = ""] = rest.map(here);
    const variables = walk.split("\n").slice(0, 2).join("\n");
    expect(variables.match(/^export /gm)).toHaveLength(2);
    return { ...page, walk, requests, accounts, trail, webhooks, variables };
  }

  it("leads to a service account whose token plans and applies nothing, and to the trail of it", async () => {
    const { folder, shell, walk, trail, webhooks, variables } = await begin();
    const made = await shell(walk);
    expect(made).toContain("Created ci: service account");
    expect(made).toContain("Gave team platform: operator in web");

    await mkdir(join(folder, "network"));
    await writeFile(join(folder, "network/main.tf"), 'resource "terraform_data" "a" {}\n');
    await shell(`${variables}\n${START} --plan-only`);
    const ci = `${variables}\nexport STACKWRIGHT_TOKEN=$(cat ci.token)`;
    expect(await shell(`${ci}\n${START} --plan-only`)).toContain("Plan: 1 to add");
    const refused = await shell(`${ci}\n${START} --yes 2>&1 || test $? = 1`);
    expect(refused).toContain("forbidden");

    await shell(`${variables}\n${trail}`);
    const lines = (await readFile(join(folder, "trail.ndjson"), "utf8")).trim().split("\n");
    const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(entries.map(({ sequence }) => sequence)).toEqual(lines.map((_, at) => at + 1));
    expect(entries).toContainEqual(
      expect.objectContaining({ action: "CreateTeam", outcome: "done" }),
    );
    expect(entries).toContainEqual(expect.objectContaining({ actor: "user-ci" }));

    const nowhere = webhooks.replace("siem.example.com", "siem.invalid");
    const [set = "", test = "", list = ""] = nowhere.split("\n");
    const said = await shell([variables, set, `${test} 2>&1 || test $? = 1`].join("\n"));
    expect(said).toContain("Secret: whsec_");
    expect(said).toContain("Not delivered: POST https://siem.invalid");
    // The entries are sent by themselves, some time after the command has set where to.
    await expect
      .poll(async () => shell(`${variables}\n${list}`), { timeout: 60_000, interval: 500 })
      .toMatch(/^siem: .* attempts failed/m);
  });

  it("leads to a second account with an administrator", async () => {
    const { shell, accounts, variables } = await begin();
    const said = await shell(`${variables}\n${accounts}`);
    expect(said).toContain("Created lea: user");
    expect(said).toContain("Gave user lea: admin of the account");
    expect(said).toMatch(/shop \(The shop\), since 2026\n {2}nothing is in it\n/);
    expect(said).toMatch(/^default\nshop \(The shop\), since 2026$/m);
  });

  it("leads to the same with curl alone", async () => {
    const { shell, requests, variables } = await begin();
    const answers = await shell(`${variables}\n${requests}`);
    expect(answers).not.toContain("urn:stackwright:problem");
    expect(answers).toMatch(/"user":"ci".*"project_roles":\{"web":\["planner"\]\}/);
  });
});
