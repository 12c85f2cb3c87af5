import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startApi } from "../testing/start-api.ts";
import { terraformRoot } from "../testing/terraform-roots.ts";

/** What shows the behaviour; `.ci/soak --only sizes` has the size that is promised. */
const IS_FULL = process.env["TEST_FULL_SIZES"] !== undefined;
const MEGABYTES = IS_FULL ? 100 : 20;
/** The full size ends with its job, whose limit is ample: how long it takes says more of the machine than of the server. */
const TIMEOUT_MS = IS_FULL ? 5_100_000 : 300_000;

it.for([
  ["terraform", process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform"],
  ["tofu", process.env["TEST_TOOL_OPENTOFU"] ?? "tofu"],
])(
  `a state of ${MEGABYTES} MB is pushed and pulled by %s through the http backend`,
  {
    timeout: TIMEOUT_MS,
  },
  async ([name = "", command = ""], context) => {
    const isThere = spawnSync(command, ["version"]).status === 0;
    context.skip(!isThere, `${name} cannot be run on this machine`);
    const { server, call, first } = await startApi("none", { store: "sqlite:store" });
    const { ok, write, directory } = await terraformRoot(command, {
      TF_HTTP_ADDRESS: `${server.url}/state/v1/default/web/shop`,
      TF_HTTP_LOCK_ADDRESS: `${server.url}/state/v1/default/web/shop`,
      TF_HTTP_UNLOCK_ADDRESS: `${server.url}/state/v1/default/web/shop`,
      TF_HTTP_USERNAME: "ci",
      TF_HTTP_PASSWORD: first.token,
    });
    await write('terraform {\n  backend "http" {}\n}\n');
    await ok("init");
    const text = "x".repeat(10_000);
    // As outputs, which no schema limits.
    const outputs = Object.fromEntries(
      Array.from({ length: MEGABYTES * 100 }, (_, index) => [
        `o${index}`,
        { value: text, type: "string" },
      ]),
    );
    const head = { version: 4, terraform_version: "1.11.4", serial: 1, lineage: "large" };
    const file = join(directory, "large.tfstate");
    await writeFile(file, JSON.stringify({ ...head, outputs, resources: [] }));
    await ok("state", "push", file);
    const versions = "/api/v1/projects/web/stacks/shop/state-versions/1";
    const stored = await call("GET", versions);
    expect(stored.json["bytes"]).toBeGreaterThan(MEGABYTES * 1_000_000);
    const content = await call("GET", `${versions}/content`);
    expect(createHash("md5").update(content.text).digest("hex")).toBe(stored.json["md5"]);
    // The command ends what it prints with a line break of its own.
    const pulled = (await ok("state", "pull")).slice(0, -1);
    expect(createHash("md5").update(pulled).digest("hex")).toBe(stored.json["md5"]);
  },
);
