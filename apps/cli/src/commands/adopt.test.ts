import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { folderWith, RESOURCE, STATE } from "../testing/adoption-folder.ts";

// Nothing listens there, and the keys end the search for others.
const S3 = `terraform {
  backend "s3" {
    bucket      = "states"
    key         = "app"
    region      = "eu-west-1"
    access_key  = "a"
    secret_key  = "hidden"
    max_retries = 1
    endpoints   = { s3 = "http://127.0.0.1:1" }
  }
}
`;

const EMPTY_STATE = JSON.stringify({
  version: 4,
  serial: 1,
  lineage: "x",
  outputs: {},
  resources: [],
});
const RECORD = JSON.stringify({
  version: 3,
  backend: { type: "gcs", config: { bucket: "b", prefix: "p", access_token: "hidden" }, hash: 1 },
});

const SIGNS: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
  ["a state file", { "terraform.tfstate": STATE }, /state file terraform\.tfstate: 1 object\b/],
  [
    "a backend block",
    { "backend.tf": S3 },
    /backend "s3" \(backend\.tf line 2\): bucket states, key app, workspace default/,
  ],
  [
    "a cloud block in an override file",
    { "x_override.tf": `terraform {\n  cloud {\n    organization = "acme"\n  }\n}\n` },
    /cloud \(x_override\.tf line 2\): organization acme/,
  ],
  ["a backend block of OpenTofu", { "b.tofu": S3 }, /backend "s3" \(b\.tofu line 2\)/],
  [
    "a record of init",
    { ".terraform/terraform.tfstate": RECORD },
    /backend "gcs" \(recorded by init\): bucket b, prefix p/,
  ],
  ["a state of a workspace", { "terraform.tfstate.d/w/terraform.tfstate": STATE }, /workspace w/],
  [
    "a state where the local backend keeps it",
    {
      "b.tf": `terraform {\n  backend "local" {\n    path = "st/x.tfstate"\n  }\n}\n`,
      "st/x.tfstate": STATE,
    },
    /state file st\/x\.tfstate/,
  ],
  ["a state that could not be saved", { "errored.tfstate": STATE }, /errored\.tfstate: 1 object\b/],
  ["an encrypted state", { "terraform.tfstate": `{"encrypted_data":"x"}` }, /it is encrypted/],
  ["a state that was cut off", { "terraform.tfstate": STATE.slice(0, 40) }, /cut off/],
  [
    "a state of version 3",
    {
      "terraform.tfstate": JSON.stringify({
        version: 3,
        modules: [{ path: ["root"], resources: { "a.b": {} }, outputs: {} }],
      }),
    },
    /1 object\b/,
  ],
  ["a lock", { ".terraform.tfstate.lock.info": "{}" }, /another command works on the state/],
  ["terragrunt", { "terragrunt.hcl": "" }, /terragrunt configuration terragrunt\.hcl/],
];

describe("an empty stack beside a Terraform state", () => {
  it.each(SIGNS)("is not planned on with %s", async (_name, files, text) => {
    const { run, path } = await folderWith(files);
    const { code, output, error } = await run(["plan"]);
    expect({ code, output }).toEqual({ code: 1, output: "" });
    expect(error).toContain("ENGINE_STATE_NOT_ADOPTED");
    expect(error).toMatch(text);
    expect(error).not.toContain("hidden");
    expect(existsSync(path(".stackwright"))).toBe(false);
  });

  it.each([
    ["up", "-y"],
    ["destroy", "-y"],
    ["refresh", "-y"],
    ["plan", "-out", "p"],
    ["plan", "-refresh-only"],
    ["import", "terraform_data.a", "one"],
  ])("is refused by %s %s", async (...words) => {
    const { run, path } = await folderWith({ "backend.tf": S3 });
    const { code, error } = await run(words);
    expect(code).toBe(1);
    expect(error).toContain("ENGINE_STATE_NOT_ADOPTED");
    expect(existsSync(path(".stackwright"))).toBe(false);
    expect(existsSync(path("p"))).toBe(false);
  });

  it("is a diagnostic with its code in JSON", async () => {
    const { run } = await folderWith({ "backend.tf": S3 });
    const { output } = await run(["plan", "-json"]);
    expect(output).toContain(`"code":"ENGINE_STATE_NOT_ADOPTED"`);
  });

  it("may be validated, formatted and prepared", async () => {
    const { run } = await folderWith({ "backend.tf": S3, "terraform.tfstate": STATE });
    for (const word of ["validate", "fmt", "init", "graph", "providers"]) {
      expect(await run([word])).toMatchObject({ code: 0 });
    }
  });

  it("is planned on where nothing was ever kept", async () => {
    const harmless = {
      "terraform.tfstate": EMPTY_STATE,
      "b.tf": `terraform {\n  backend "local" {}\n}\nmodule "m" {\n  source = "./m"\n}\n`,
      // Of a child module the block has no effect.
      "m/main.tf": S3,
      ".terraform/terraform.tfstate": `{"version":3,"backend":{"type":"local","config":{"path":null},"hash":1}}`,
    };
    const { run } = await folderWith(harmless);
    expect(await run(["plan"])).toMatchObject({ code: 0 });
  });
});

describe("adopt", () => {
  it("shows what was found", async () => {
    const { run } = await folderWith({ "backend.tf": S3 });
    expect(await run(["adopt", "--detect"])).toMatchObject({ code: 1 });
    const { output } = await run(["adopt", "--detect", "--json"]);
    expect(JSON.parse(output)).toMatchObject({
      stack: "default",
      state: "not-adopted",
      verdict: "possible",
      evidence: [{ kind: "backend", verdict: "possible" }],
    });
  });

  it("says that there is nothing to adopt", async () => {
    const { run } = await folderWith({});
    const { code, output } = await run(["adopt"]);
    expect(code).toBe(0);
    expect(output).toContain("no Terraform state");
  });

  it("records for one stack that it begins without a former state", async () => {
    const { run } = await folderWith({ "backend.tf": S3 });
    expect(await run(["adopt", "--fresh"])).toMatchObject({ code: 0 });
    expect(await run(["up", "-y"])).toMatchObject({ code: 0 });
    expect(await run(["destroy", "-y"])).toMatchObject({ code: 0 });
    expect(await run(["up", "-y"])).toMatchObject({ code: 0 });
    const { output } = await run(["adopt", "--detect"]);
    expect(output).toContain("began without a former state");
    expect(await run(["plan", "--stack", "other"])).toMatchObject({ code: 1 });
    expect((await run(["adopt", "--fresh"])).error).toContain("has objects");
  });

  it("needs the name of the stack to leave out a state with objects", async () => {
    const { run } = await folderWith({ "terraform.tfstate": STATE });
    expect((await run(["adopt", "--fresh"])).error).toContain("1 object,");
    expect((await run(["adopt", "--fresh", "--force"])).error).toContain("--confirm default");
    const wrong = await run(["adopt", "--fresh", "--force", "--confirm", "prod"]);
    expect(wrong).toMatchObject({ code: 1 });
    expect(await run(["plan"])).toMatchObject({ code: 1 });
    const right = await run(["adopt", "--fresh", "--force", "--confirm", "default"]);
    expect(right).toMatchObject({ code: 0 });
    expect(await run(["plan"])).toMatchObject({ code: 0 });
  });

  it("is not needed after import-state", async () => {
    const { run } = await folderWith({ "terraform.tfstate": STATE });
    expect(await run(["import-state", "terraform.tfstate"])).toMatchObject({ code: 0 });
    expect(await run(["plan", "-detailed-exitcode"])).toMatchObject({ code: 0 });
    expect((await run(["adopt", "--detect"])).output).toContain("serial 7");
    expect(await run(["destroy", "-y"])).toMatchObject({ code: 0 });
    expect(await run(["plan"])).toMatchObject({ code: 0 });
  });
});

describe("adopting a state file", () => {
  it("records it after an empty plan, and leaves a marker in its place", async () => {
    const { run, path } = await folderWith({ "terraform.tfstate": STATE });
    expect(await run(["adopt", "--dry-run"])).toMatchObject({ code: 0 });
    expect(existsSync(path(".stackwright"))).toBe(false);
    const { code, output } = await run(["adopt", "--yes"]);
    expect(code).toBe(0);
    expect(output).toContain("1 object, 0 outputs; the plan is empty");
    expect(await run(["plan", "-detailed-exitcode"])).toMatchObject({ code: 0 });
    expect(JSON.parse(readFileSync(path("terraform.tfstate"), "utf8"))).toMatchObject({
      version: 99,
      adopted_stack: "default",
    });
    expect(readFileSync(path("terraform.tfstate.adopted-7"), "utf8")).toBe(STATE);
    expect((await run(["adopt", "--yes"])).output).toContain("adopted it before");
    const exported = JSON.parse((await run(["export-state"])).output) as { serial: number };
    expect(exported).toMatchObject({ lineage: "11111111-2222-3333-4444-555555555555" });
    expect(exported.serial).toBeGreaterThan(7);
  });

  it("keeps a fresh clone from planning on the marker that was left", async () => {
    const { run, path } = await folderWith({ "terraform.tfstate": STATE });
    expect(await run(["adopt", "--yes"])).toMatchObject({ code: 0 });
    rmSync(path(".stackwright"), { recursive: true });
    const { code, error } = await run(["up", "-y"]);
    expect(code).toBe(1);
    expect(error).toContain("it was adopted by the stack default");
  });

  it("says nothing more of the backend, unless that is another one since", async () => {
    const local = 'terraform {\n  backend "local" {}\n}\n';
    const { run, path } = await folderWith({ "terraform.tfstate": STATE, "b.tf": local });
    expect(await run(["adopt", "--yes"])).toMatchObject({ code: 0 });
    expect((await run(["plan"])).error).toBe("");
    writeFileSync(path("b.tf"), S3);
    const { code, error } = await run(["plan", "-detailed-exitcode"]);
    expect(code).toBe(0);
    expect(error).toContain("Backend has no effect");
    expect(error).toMatch(/backend of the type "local"/);
  });

  it("does not record it where the plan has changes", async () => {
    const { run, path } = await folderWith({ "terraform.tfstate": STATE });
    writeFileSync(path("main.tf"), RESOURCE.replace("1", "2"));
    const { code, output } = await run(["adopt", "--yes"]);
    expect(code).toBe(2);
    expect(output).toContain("update terraform_data.a");
    expect(existsSync(path(".stackwright"))).toBe(false);
    expect(await run(["adopt", "--yes", "--accept-changes"])).toMatchObject({ code: 0 });
    expect(await run(["plan", "-detailed-exitcode"])).toMatchObject({ code: 2 });
  });

  it.each([
    ["an empty file", "", "the state file is empty"],
    ["a text that was cut off", STATE.slice(0, 40), "JSON (line 1)"],
    ["version 3", `{"version":3}`, "version 3"],
    ["an encrypted state", `{"encrypted_data":"x"}`, "encrypted"],
  ])("is refused for %s", async (_name, text, problem) => {
    const { run } = await folderWith({ "terraform.tfstate": text });
    const { code, output, error } = await run(["adopt", "--yes"]);
    expect(code).toBe(1);
    expect(output + error).toContain(problem);
  });

  it("adopts one lineage once", async () => {
    const { run } = await folderWith({ "terraform.tfstate": STATE });
    expect(await run(["adopt", "--yes", "--old", "none"])).toMatchObject({ code: 0 });
    const { code, output } = await run([
      "adopt",
      "--yes",
      "--workspace",
      "default",
      "--stack",
      "b",
    ]);
    expect(code).toBe(1);
    expect(output).toContain('the stack "default" has adopted the state');
  });

  it("needs an approval", async () => {
    const { run, path } = await folderWith({ "terraform.tfstate": STATE });
    expect((await run(["adopt"])).output).toContain("--yes");
    expect(existsSync(path(".stackwright"))).toBe(false);
  });
});

describe("the workspace that was selected", () => {
  it("is the stack, and a command about another one is refused", async () => {
    const { run } = await folderWith({
      "out.tf": `output "w" {\n  value = terraform.workspace\n}\n`,
    });
    expect(await run(["up", "-y"], { TF_WORKSPACE: "prod" })).toMatchObject({ code: 0 });
    expect((await run(["output", "-raw", "w", "--stack", "prod"])).output).toBe("prod");
    expect((await run(["plan", "-detailed-exitcode"])).code).toBe(2);
    for (const env of [
      { TF_WORKSPACE: "prod" },
      { TF_WORKSPACE: "prod", STACKWRIGHT_STACK: "b" },
    ]) {
      const { code, error } = await run(
        ["plan", ...(env.STACKWRIGHT_STACK ? [] : ["--stack", "b"])],
        env,
      );
      expect(code).toBe(1);
      expect(error).toContain(`TF_WORKSPACE selects "prod"`);
    }
    expect((await run(["plan", "--stack", "prod"], { TF_WORKSPACE: "prod" })).code).toBe(0);
  });

  it("may come from a file, in the folder of TF_DATA_DIR too", async () => {
    const { run } = await folderWith({
      ".terraform/environment": "one",
      "data/environment": "two\n",
    });
    expect(await run(["up", "-y"])).toMatchObject({ code: 0 });
    expect(await run(["up", "-y"], { TF_DATA_DIR: "data" })).toMatchObject({ code: 0 });
    const { output } = await run(["stacks", "--json"]);
    const names = (JSON.parse(output) as { name: string }[]).map(({ name }) => name);
    expect(names).toEqual(["one", "two"]);
  });
});

describe("adopt --all-workspaces", () => {
  const WORKSPACES = {
    "terraform.tfstate": STATE,
    "terraform.tfstate.d/stg/terraform.tfstate": STATE.replace("11111111", "22222222"),
  };

  it("adopts every workspace, as without a word about them", async () => {
    const { run } = await folderWith(WORKSPACES);
    const { code, output } = await run(["adopt", "--all-workspaces", "--yes"]);
    expect(code, output).toBe(0);
    for (const stack of ["default", "stg"]) {
      const planned = await run(["plan", "--stack", stack, "--detailed-exitcode"]);
      expect(planned.code, planned.output).toBe(0);
    }
  });

  it.each([
    [["--workspace", "stg"], {}],
    [["--stack", "one"], {}],
    [["--fresh"], {}],
    [["terraform.tfstate"], {}],
    [[], { STACKWRIGHT_STACK: "one" }],
  ])("is refused with %j and %j, which name one", async (words, env) => {
    const { run, path } = await folderWith(WORKSPACES);
    const { code, error } = await run(["adopt", "--all-workspaces", "--yes", ...words], env);
    expect(code).toBe(1);
    expect(error).toContain("--all-workspaces is for every workspace");
    expect(readFileSync(path("terraform.tfstate"), "utf8")).toBe(STATE);
  });
});
