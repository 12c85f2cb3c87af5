import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { folderWith, STATE } from "../testing/adoption-folder.ts";

/*
 * A configuration whose objects exist must never be planned as if they did not: not for any place in which Terraform keeps a state,
 * whether the configuration names it or init has recorded it, and not by any command that plans.
 */

/** Every backend of Terraform 1.11 but `local` with the arguments that it needs; `cloud` is a block of its own. */
const BACKENDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  azurerm: { storage_account_name: "acme", container_name: "states", key: "app" },
  consul: { address: "127.0.0.1:1", path: "states/app", scheme: "http" },
  cos: { bucket: "states-1", region: "ap-guangzhou", prefix: "app" },
  gcs: { bucket: "states", prefix: "app" },
  http: { address: "http://127.0.0.1:1/state" },
  inmem: { lock_id: "x" },
  kubernetes: { secret_suffix: "app", namespace: "states" },
  oss: { bucket: "states", key: "app", region: "cn-beijing" },
  pg: { conn_str: "postgres://127.0.0.1:1/states" },
  remote: { organization: "acme", hostname: "127.0.0.1:1" },
  s3: { bucket: "states", key: "app", region: "eu-west-1" },
};

const block = (type: string, values: Readonly<Record<string, string>>): string => {
  const items = Object.entries(values).map(([name, value]) => `    ${name} = "${value}"\n`);
  return `terraform {\n  backend "${type}" {\n${items.join("")}  }\n}\n`;
};

const record = (type: string, config: unknown): string =>
  JSON.stringify({ version: 3, backend: { type, config, hash: 1 } });

const CLOUD = {
  organization: "acme",
  hostname: "127.0.0.1:1",
  token: null,
  workspaces: { name: "app", project: null, tags: null },
};

const EXISTING: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ...Object.entries(BACKENDS).flatMap(([type, values]) => [
    [`a block of ${type}`, { "backend.tf": block(type, values) }] as const,
    [`a block of ${type} without its arguments`, { "backend.tf": block(type, {}) }] as const,
    [`a record of ${type}`, { ".terraform/terraform.tfstate": record(type, values) }] as const,
    [
      `a record of ${type} beside another block`,
      {
        ".terraform/terraform.tfstate": record(type, values),
        "backend.tf": block("local", {}),
      },
    ] as const,
  ]),
  [
    "a cloud block",
    {
      "cloud.tf":
        'terraform {\n  cloud {\n    organization = "acme"\n    workspaces {\n      name = "app"\n    }\n  }\n}\n',
    },
  ],
  ["a cloud block without arguments", { "cloud.tf": "terraform {\n  cloud {}\n}\n" }],
  ["a record of cloud", { ".terraform/terraform.tfstate": record("cloud", CLOUD) }],
  [
    "a backend in JSON",
    { "b.tf.json": JSON.stringify({ terraform: { backend: { s3: BACKENDS["s3"] } } }) },
  ],
  ["a backend of OpenTofu", { "b.tofu": block("gcs", BACKENDS["gcs"] ?? {}) }],
  ["a local state", { "terraform.tfstate": STATE }],
  [
    "a local state beside a local backend",
    { "terraform.tfstate": STATE, "b.tf": block("local", {}) },
  ],
  [
    "a local state in another place",
    { "states/app.tfstate": STATE, "b.tf": block("local", { path: "states/app.tfstate" }) },
  ],
  [
    "a local state in a place that init has recorded",
    {
      "states/app.tfstate": STATE,
      ".terraform/terraform.tfstate": record("local", { path: "states/app.tfstate" }),
    },
  ],
  ["a local state of another workspace", { "terraform.tfstate.d/w/terraform.tfstate": STATE }],
  [
    "a local state of the selected workspace",
    { "terraform.tfstate.d/w/terraform.tfstate": STATE, ".terraform/environment": "w" },
  ],
  [
    "a local state in another folder of workspaces",
    { "spaces/w/terraform.tfstate": STATE, "b.tf": block("local", { workspace_dir: "spaces" }) },
  ],
  ["a state that could not be saved", { "errored.tfstate": STATE }],
  [
    "a state of version 3",
    {
      "terraform.tfstate":
        '{"version":3,"modules":[{"path":["root"],"resources":{"a.b":{}},"outputs":{}}]}',
    },
  ],
  ["an encrypted state", { "terraform.tfstate": '{"encrypted_data":"x"}' }],
  ["a damaged state", { "terraform.tfstate": STATE.slice(0, 40) }],
  ["a damaged record of init", { ".terraform/terraform.tfstate": '{"version":' }],
];

describe("a configuration whose objects exist elsewhere", { timeout: 60_000 }, () => {
  describe.each(EXISTING)("with %s", (_name, files) => {
    it.each([["plan"], ["up", "-y"]])("is not planned as new by %s %s", async (...words) => {
      const { run, path } = await folderWith(files);
      const { code, output, error } = await run(words);
      expect(code).toBe(1);
      expect(output).not.toMatch(/terraform_data\.a/);
      expect(error).toContain("ENGINE_STATE_NOT_ADOPTED");
      expect(existsSync(path(".stackwright"))).toBe(false);
    });
  });

  it.each([
    ["apply", "-auto-approve"],
    ["plan", "-out=p"],
    ["plan", "-refresh=false"],
    ["plan", "-target=terraform_data.a"],
    ["destroy", "-y"],
    ["refresh", "-y"],
    ["import", "terraform_data.a", "one"],
  ])("is not planned as new by %s %s", async (...words) => {
    const { run, path } = await folderWith({ "terraform.tfstate": STATE });
    const { code, error } = await run(words);
    expect({ words, code }).toEqual({ words, code: 1 });
    expect(error).toContain("ENGINE_STATE_NOT_ADOPTED");
    expect(existsSync(path("p"))).toBe(false);
  });

  it.each([
    ["output", "-json"],
    ["state", "list"],
    ["state", "pull"],
    ["state", "show", "terraform_data.a"],
    ["show", "-json"],
  ])("is not shown as empty by %s %s", async (...words) => {
    const { run } = await folderWith({ "terraform.tfstate": STATE });
    const { code, output, error } = await run(words);
    expect({ words, code, output }).toEqual({ words, code: 1, output: "" });
    expect(error).toContain("ENGINE_STATE_NOT_ADOPTED");
    expect(error).toContain("stackwright adopt");
  });

  it("is missing from the workspaces, which is said beside their list", async () => {
    const { run } = await folderWith({
      "terraform.tfstate.d/w/terraform.tfstate": STATE,
      ".terraform/environment": "w",
    });
    const { code, output, error } = await run(["workspace", "list"]);
    expect({ code, output }).toEqual({ code: 0, output: "  default\n" });
    expect(error).toContain("ENGINE_STATE_NOT_ADOPTED");
    expect(error).toContain("Its workspaces are not listed.");
    expect(error).toContain('The selected workspace "w" does not exist yet.');
  });

  it("is unknown to the console, which says so and answers", async () => {
    const { run } = await folderWith({ "terraform.tfstate": STATE });
    const { code, output, error } = await run(["console"], {}, 'upper("a")\n');
    expect({ code, output }).toEqual({ code: 0, output: '"A"\n' });
    expect(error).toContain("ENGINE_STATE_NOT_ADOPTED");
    await run(["adopt", "-y"]);
    expect((await run(["console"], {}, "1\n")).error).toBe("");
  });

  it("may be in a backend: what is read is shown with a warning", async () => {
    const { run } = await folderWith({ "backend.tf": block("gcs", BACKENDS["gcs"] ?? {}) });
    const { code, output, error } = await run(["output", "-json"]);
    expect({ code, output }).toEqual({ code: 0, output: "{}\n" });
    expect(error).toContain(
      "Warning: This configuration has a Terraform state that was not adopted",
    );
    await run(["adopt", "--fresh", "-y"]);
    expect(await run(["output", "-json"])).toMatchObject({ code: 0, error: "" });
  });

  it("is not planned as new in the data folder that TF_DATA_DIR names", async () => {
    const files = { "data/terraform.tfstate": record("gcs", BACKENDS["gcs"]) };
    const { run } = await folderWith(files);
    const { code, error } = await run(["up", "-y"], { TF_DATA_DIR: "data" });
    expect(code).toBe(1);
    expect(error).toContain("ENGINE_STATE_NOT_ADOPTED");
  });

  it("is not planned as new on another stack", async () => {
    const { run } = await folderWith({ "terraform.tfstate": STATE });
    const { code, error } = await run(["up", "-y", "--stack", "other"]);
    expect(code).toBe(1);
    expect(error).toContain("ENGINE_STATE_NOT_ADOPTED");
  });
});
