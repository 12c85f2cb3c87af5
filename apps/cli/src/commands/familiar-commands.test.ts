import { writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { folderWith, STATE } from "../testing/adoption-folder.ts";

/** A directory whose stack has one object. */
async function appliedFolder(files: Readonly<Record<string, string>> = {}) {
  const folder = await folderWith(files);
  const { code, error } = await folder.run(["apply", "-auto-approve"]);
  expect(code, error).toBe(0);
  return folder;
}

describe("taint and untaint", { timeout: 120_000 }, () => {
  it("mark objects and ask nothing", async () => {
    const { run } = await appliedFolder();
    expect(await run(["taint", "terraform_data.a"])).toMatchObject({ code: 0 });
    expect((await run(["plan", "-detailed-exitcode"])).code).toBe(2);
    expect(await run(["untaint", "terraform_data.a"])).toMatchObject({ code: 0 });
    expect((await run(["plan", "-detailed-exitcode"])).code).toBe(0);
    expect((await run(["untaint", "terraform_data.a"])).code).toBe(1);
    expect((await run(["taint", "x.y"])).code).toBe(1);
    const missing = await run(["taint", "-allow-missing", "x.y"]);
    expect(missing).toMatchObject({ code: 0 });
    expect(missing.error).toContain("Warning");
  });
});

describe("state list", { timeout: 120_000 }, () => {
  it("ends with 1 for an address that does not exist", async () => {
    const { run } = await appliedFolder();
    expect(await run(["state", "list", "terraform_data.b"])).toMatchObject({ code: 1, output: "" });
    expect((await run(["state", "ls", "terraform_data.a"])).output).toBe("terraform_data.a\n");
  });

  it("shows objects of the root first, and instances in the order of their numbers", async () => {
    const { run } = await appliedFolder({
      "main.tf":
        'module "m" {\n  source = "./m"\n}\nresource "terraform_data" "n" {\n  count = 11\n}\n',
      "m/main.tf": 'resource "terraform_data" "a" {}\n',
    });
    expect((await run(["state", "list"])).output.trim().split("\n")).toEqual([
      ...Array.from({ length: 11 }, (_, at) => `terraform_data.n[${String(at)}]`),
      "module.m.terraform_data.a",
    ]);
    const { error } = await run(["state", "show", "terraform_data.n"]);
    expect(error).toContain(
      "Name one instance. stackwright state list terraform_data.n shows them.",
    );
  });

  it("finds objects by id", async () => {
    const { run } = await appliedFolder();
    const { output } = await run(["show", "-json"]);
    const { values } = JSON.parse(output) as {
      values: { root_module: { resources: { values: { id: string } }[] } };
    };
    const id = values.root_module.resources[0]?.values.id ?? "";
    expect((await run(["state", "list", `-id=${id}`])).output).toBe("terraform_data.a\n");
    expect(await run(["state", "list", "-id=none"])).toMatchObject({ code: 0, output: "" });
  });
});

describe("output -json", { timeout: 120_000 }, () => {
  it("writes one value on one line, as scripts put it into files of variables", async () => {
    const { run } = await appliedFolder({ "main.tf": 'output "l" { value = ["a", { b = 1 }] }\n' });
    expect((await run(["output", "-json", "l"])).output).toBe('["a",{"b":1}]\n');
  });
});

describe("state mv and rm", { timeout: 120_000 }, () => {
  it("ask nothing in a script", async () => {
    const { run } = await appliedFolder();
    expect(await run(["state", "mv", "terraform_data.a", "terraform_data.b"])).toMatchObject({
      code: 0,
    });
    expect((await run(["state", "list"])).output).toBe("terraform_data.b\n");
    expect(await run(["state", "rm", "terraform_data.b"])).toMatchObject({ code: 0 });
    expect((await run(["state", "list"])).output).toBe("");
  });
});

describe("state pull and push", { timeout: 120_000 }, () => {
  it("give and take the same state", async () => {
    const { run, path } = await appliedFolder();
    const { output } = await run(["state", "pull"]);
    await writeFile(path("old.json"), output);
    const same = await run(["state", "push", "old.json"]);
    expect(same.output).toContain("Nothing was changed");
    const changed = output.replace('"value": 1', '"value": 2');
    await writeFile(path("new.json"), changed);
    const pushed = await run(["state", "push", "new.json"]);
    expect(pushed).toMatchObject({ code: 0 });
    expect(pushed.output).toContain("~ terraform_data.a");
    const again = JSON.parse((await run(["state", "pull"])).output) as { resources: unknown };
    expect(again.resources).toEqual((JSON.parse(changed) as typeof again).resources);
    expect((await run(["plan", "-detailed-exitcode"])).code).toBe(2);
    // The first file has a lower serial by now.
    expect((await run(["state", "push", "old.json"])).code).toBe(1);
    expect((await run(["state", "push", "-force", "old.json"])).code).toBe(0);
    expect((await run(["plan", "-detailed-exitcode"])).code).toBe(0);
  });

  it("add and remove objects, and refuse another lineage", async () => {
    const { run, path } = await appliedFolder();
    const other = JSON.parse(STATE) as { resources: { name: string }[] };
    for (const resource of other.resources) resource.name = "b";
    await writeFile(path("other.json"), JSON.stringify(other));
    const refused = await run(["state", "push", "other.json"]);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.error).toContain("lineage");
    const pushed = await run(["state", "push", "-force", "other.json"]);
    expect(pushed.output).toContain("+ terraform_data.b");
    expect(pushed.output).toContain("- terraform_data.a");
    expect((await run(["state", "list"])).output).toBe("terraform_data.b\n");
  });

  it("write nothing without a state, and report a missing file", async () => {
    const { run } = await folderWith({});
    expect(await run(["state", "pull"])).toMatchObject({ code: 0, output: "" });
    expect(await run(["state", "push", "none.json"])).toMatchObject({ code: 1 });
  });
});

describe("state replace-provider", { timeout: 120_000 }, () => {
  it("records another provider after an approval", async () => {
    const { run, path } = await folderWith({});
    const from = "registry.terraform.io/acme/old";
    const state = STATE.replace("terraform.io/builtin/terraform", from);
    await writeFile(path("state.json"), state);
    await run(["state", "push", "state.json"]);
    const none = await run(["state", "replace-provider", "acme/none", "acme/new"]);
    expect(none).toMatchObject({ code: 0, output: "No matching objects found.\n" });
    expect((await run(["state", "replace-provider", "acme/old", "acme/new"])).code).toBe(1);
    const done = ["state", "replace-provider", "-auto-approve", "acme/old", "acme/new"];
    expect(await run(done)).toMatchObject({ code: 0 });
    expect((await run(["state", "pull"])).output).toContain("registry.terraform.io/acme/new");
    expect((await run(["state", "replace-provider", "x y", "acme/new"])).code).toBe(1);
  });
});

describe("force-unlock", { timeout: 120_000 }, () => {
  it("is refused where no run has the lock", async () => {
    const { run } = await appliedFolder();
    const { code, error } = await run(["force-unlock", "-force", "id"]);
    expect(code).toBe(1);
    expect(error).toContain("not locked");
  });
});

describe("metadata functions", { timeout: 120_000 }, () => {
  it("writes signatures, each under two names", async () => {
    const { run } = await folderWith({});
    expect((await run(["metadata", "functions"])).code).toBe(1);
    const { code, output } = await run(["metadata", "functions", "-json"]);
    expect(code).toBe(0);
    const { format_version: version, function_signatures: found } = JSON.parse(output) as {
      format_version: string;
      function_signatures: Record<string, object>;
    };
    expect(version).toBe("1.0");
    expect(found["abs"]).toMatchObject({ return_type: "number", parameters: [{ type: "number" }] });
    expect(found["core::abs"]).toEqual(found["abs"]);
    expect(found["format"]).toMatchObject({ variadic_parameter: { is_nullable: true } });
  });
});

describe("a Terraform state file", { timeout: 120_000 }, () => {
  it("is shown, and its outputs are read", async () => {
    const output = { o: { value: "x", type: "string" } };
    const state = JSON.stringify({ ...(JSON.parse(STATE) as object), outputs: output });
    const { run } = await folderWith({ "s.json": state });
    expect((await run(["show", "s.json"])).output).toContain("# terraform_data.a:");
    expect(JSON.parse((await run(["show", "-json", "s.json"])).output)).toMatchObject({
      values: { outputs: { o: { value: "x" } } },
    });
    expect((await run(["output", "-state=s.json", "-raw", "o"])).output).toBe("x");
    expect((await run(["output", "-state", "s.json"])).output).toBe('o = "x"\n');
    expect((await run(["output", "-state", "s.json", "none"])).code).toBe(1);
  });

  it("is not mistaken for a plan of the reference command", async () => {
    const { run } = await folderWith({ p: "PK\u0003\u0004" });
    const { code, error } = await run(["show", "p"]);
    expect(code).toBe(1);
    expect(error).toContain("stackwright plan --out");
  });
});

describe("options of plans", { timeout: 120_000 }, () => {
  it("of a saved plan are refused, as they cannot change it", async () => {
    const { run } = await folderWith({});
    expect((await run(["plan", "-out=p"])).code).toBe(0);
    for (const option of [
      "-destroy",
      "-refresh-only",
      "-refresh=false",
      "-target=a.b",
      "-replace=a.b",
    ]) {
      const { code, error } = await run(["apply", option, "p"]);
      expect(code, option).toBe(1);
      expect(error).toContain("cannot change a saved plan");
    }
    expect((await run(["apply", "p"])).code).toBe(0);
    expect((await run(["apply", "p"])).code).toBe(1);
  });

  it("are read from files of addresses", async () => {
    const main = `resource "terraform_data" "a" {}\nresource "terraform_data" "b" {}\n`;
    const { run } = await folderWith({ "main.tf": main, t: "# one\n\nterraform_data.a\n" });
    expect((await run(["apply", "-auto-approve", "-target-file=t"])).code).toBe(0);
    expect((await run(["state", "list"])).output).toBe("terraform_data.a\n");
    expect((await run(["apply", "-auto-approve", "-exclude-file=t"])).code).toBe(0);
    expect((await run(["state", "list"])).output).toBe("terraform_data.a\nterraform_data.b\n");
    expect((await run(["plan", "-target-file=none"])).code).toBe(1);
  });

  it("show warnings as one line each", async () => {
    const check = `check "c" {\n  assert {\n    condition     = terraform_data.a.input == 2\n    error_message = "long text"\n  }\n}\n`;
    const { run } = await folderWith({ "check.tf": check });
    const { error } = await run(["plan", "-compact-warnings"]);
    expect(error).toContain("- Check block assertion failed\n");
    expect(error).not.toContain("long text");
    expect((await run(["plan"])).error).toContain("long text");
  });
});

describe("graph and console", { timeout: 120_000 }, () => {
  it("draw and evaluate what a plan has", async () => {
    const main = `variable "v" { default = 3 }\nresource "terraform_data" "a" { input = var.v }\n`;
    const { run } = await folderWith({ "main.tf": main });
    expect((await run(["graph", "-type=plan"])).output).toContain('"terraform_data.a" -> "var.v"');
    const destroyed = await run(["graph", "-type=plan-destroy", "-draw-cycles"]);
    expect(destroyed.output).toContain('"var.v" -> "terraform_data.a"');
    expect((await run(["graph", "-type=nope"])).code).toBe(1);
  });
});
