import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
const ENV = { PATH: process.env["PATH"] ?? "", TF_IN_AUTOMATION: "1" };

/** What a run left: its exit code, what its provisioners wrote, and the recorded objects. */
interface Outcome {
  readonly failed: boolean;
  readonly log: string;
  readonly objects: readonly string[];
}

/** A folder in which the same configurations are applied by one of the commands. */
interface Applier {
  apply(text: string, ...options: readonly string[]): Promise<Outcome>;
}

async function reference(words: readonly string[], cwd: string) {
  return new Promise<{ readonly code: number; readonly text: string }>((resolve) => {
    const options = { cwd, env: { ...ENV, HOME: cwd }, timeout: 120_000 };
    execFile(COMMAND, [...words], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve({ code, text: stdout + stderr });
    });
  });
}

function objectsOf(text: string): readonly string[] {
  const { resources = [] } = JSON.parse(text) as {
    resources?: {
      type: string;
      name: string;
      instances: {
        index_key?: unknown;
        status?: string;
        deposed?: string;
        dependencies?: string[];
      }[];
    }[];
  };
  return resources
    .flatMap(({ type, name, instances }) =>
      instances.map(({ index_key: key = "", status = "", deposed, dependencies = [] }) =>
        [
          `${type}.${name}[${JSON.stringify(key)}]`,
          status,
          deposed === undefined ? "" : "deposed",
          dependencies.toSorted().join(),
        ].join(" "),
      ),
    )
    .toSorted();
}

async function folder(): Promise<string> {
  const cwd = await mkdtemp(join(tmpdir(), "provisioners-live-"));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  await mkdir(join(cwd, "sub"));
  await writeFile(join(cwd, "data.txt"), "data");
  return cwd;
}

async function written(cwd: string): Promise<string> {
  const log = await readFile(join(cwd, "log"), "utf8").catch(() => "");
  await rm(join(cwd, "log"), { force: true });
  return log.replaceAll(cwd, "CWD");
}

async function withTerraform(): Promise<Applier> {
  const cwd = await folder();
  let ready = false;
  return {
    apply: async (text, ...options) => {
      await writeFile(join(cwd, "main.tf"), text);
      if (!ready) expect(await reference(["init", "-no-color"], cwd)).toMatchObject({ code: 0 });
      ready = true;
      const { code } = await reference(["apply", "-auto-approve", "-no-color", ...options], cwd);
      const state = await reference(["state", "pull"], cwd);
      return { failed: code !== 0, log: await written(cwd), objects: objectsOf(state.text) };
    },
  };
}

async function withStackwright(): Promise<Applier> {
  const cwd = await folder();
  return {
    apply: async (text, ...options) => {
      await writeFile(join(cwd, "main.tf"), text);
      const env = { ...ENV, HOME: cwd };
      const { code } = await tryCommand(["apply", "-auto-approve", ...options], { cwd, env });
      const state = await tryCommand(["export-state"], { cwd, env });
      return { failed: code !== 0, log: await written(cwd), objects: objectsOf(state.output) };
    },
  };
}

const echo = (text: string, more = ""): string =>
  `  provisioner "local-exec" {\n    command = "echo ${text} >> log${more}"\n  }\n`;
const bye = (text: string, more = ""): string =>
  `  provisioner "local-exec" {\n    when    = destroy\n    command = "echo ${text} >> log${more}"\n  }\n`;
const data = (name: string, body: string): string =>
  `resource "terraform_data" "${name}" {\n${body}}\n`;

/** Configurations that are applied one after the other; the last step may have options. */
const SCENARIOS: Readonly<Record<string, readonly (readonly [string, ...string[]])[]>> = {
  "order, self, environment and folders": [
    [
      data(
        "a",
        `  input = "x"
  provisioner "local-exec" {
    command     = "echo $A \${self.input} \${path.module} >> ../log; pwd >> ../log"
    working_dir = "sub"
    environment = { A = "1" }
  }
  provisioner "local-exec" {
    command     = "from pathlib import Path; Path('log').open('a').write('python ')"
    interpreter = ["python3", "-c"]
    quiet       = true
  }
${echo('${file("data.txt")}')}`,
      ) + data("b", `  input = terraform_data.a.output\n${echo("b ${self.output}")}`),
    ],
  ],
  "a failure taints, is replaced, and runs again": [
    [
      data("a", echo("one") + echo("two", "; exit 1") + echo("three")) +
        data("b", "  input = terraform_data.a.id\n"),
    ],
    [data("a", echo("again")) + data("b", "  input = terraform_data.a.id\n")],
  ],
  "a failure that is ignored": [
    [
      data(
        "a",
        `  provisioner "local-exec" {
    command    = "echo one >> log; exit 1"
    on_failure = continue
  }
${echo("two")}`,
      ),
    ],
  ],
  "an update runs nothing, a replacement both": [
    [data("a", `  input = 1\n  triggers_replace = 1\n${echo("up")}${bye("down ${self.input}")}`)],
    [data("a", `  input = 2\n  triggers_replace = 1\n${echo("up")}${bye("down ${self.input}")}`)],
    [data("a", `  input = 3\n  triggers_replace = 2\n${echo("up")}${bye("down ${self.input}")}`)],
  ],
  "a replacement that creates first": [
    [
      data(
        "a",
        `  triggers_replace = 1\n${echo("up")}${bye("down")}  lifecycle {\n    create_before_destroy = true\n  }\n`,
      ),
    ],
    [
      data(
        "a",
        `  triggers_replace = 2\n${echo("up")}${bye("down")}  lifecycle {\n    create_before_destroy = true\n  }\n`,
      ),
    ],
    [
      data(
        "a",
        `  triggers_replace = 3\n${echo("up", "; exit 1")}${bye("down")}  lifecycle {\n    create_before_destroy = true\n  }\n`,
      ),
    ],
  ],
  "destroy runs them in order, and stops at a failure": [
    [
      data("a", bye("a ${self.id != null}")) +
        data("b", `  input = terraform_data.a.id\n${bye("b1", "; exit 1")}${bye("b2")}`),
    ],
    [
      data("a", bye("a ${self.id != null}")) +
        data("b", `  input = terraform_data.a.id\n${bye("b1", "; exit 1")}${bye("b2")}`),
      "-destroy",
    ],
    [
      data("a", bye("a ${self.id != null}")) +
        data("b", `  input = terraform_data.a.id\n${bye("b1")}${bye("b2")}`),
      "-destroy",
    ],
  ],
  // One object is destroyed at a time: objects that do not depend on each other have no order.
  "keys that are no longer in for_each": [
    [data("a", `  for_each = toset(["x", "y"])\n${bye("${each.key}")}`)],
    [data("a", `  for_each = toset(["x"])\n${bye("${each.key}")}`)],
  ],
  "indexes beyond count": [
    [data("a", `  count = 2\n${bye("${count.index}")}`)],
    [data("a", `  count = 1\n${bye("${count.index}")}`)],
  ],
  "a tainted object is destroyed without them": [
    [data("a", echo("up", "; exit 1") + bye("down"))],
    [data("a", echo("up") + bye("down"))],
    [data("a", bye("down")), "-destroy"],
  ],
  "a block that is gone runs nothing, a removed block its own": [
    [data("a", bye("a")) + data("b", bye("b"))],
    [
      `removed {
  from = terraform_data.b
  lifecycle {
    destroy = true
  }
${bye("removed ${self.id != null}")}}
`,
    ],
  ],
  "what provisioners read is a dependency": [
    [data("z", `  input = 1\n${echo("z")}`) + data("a", echo("a ${terraform_data.z.output}"))],
  ],
};

describe("provisioners as the real command runs them", { timeout: 300_000 }, () => {
  for (const [name, steps] of Object.entries(SCENARIOS)) {
    it(name, async (context) => {
      const { code, text } = await reference(["version"], tmpdir());
      context.skip(code !== 0, "there is no terraform command (STACKWRIGHT_TERRAFORM)");
      context.skip(!text.startsWith("Terraform v1.11."), "the terraform command is not 1.11");
      const theirs = await withTerraform();
      const ours = await withStackwright();
      for (const [config, ...options] of steps) {
        const expected = await theirs.apply(config, ...options);
        expect(await ours.apply(config, ...options)).toEqual(expected);
      }
    });
  }
});

const WRONG: Readonly<Record<string, string>> = {
  "var in a destroy provisioner": bye("${var.x}"),
  "each.value in a destroy provisioner": bye("${each.value}"),
  "path in a destroy provisioner": bye("${path.module}"),
  "a destroy provisioner and a connection that refers to another object":
    bye("x") + "  connection {\n    host = var.x\n  }\n",
  "a missing command": '  provisioner "local-exec" {}\n',
  "an unknown argument": '  provisioner "local-exec" {\n    command = "x"\n    shell = "y"\n  }\n',
  "a wrong time": '  provisioner "local-exec" {\n    when = later\n    command = "x"\n  }\n',
  "quoted keywords": '  provisioner "local-exec" {\n    when = "destroy"\n    command = "x"\n  }\n',
  "two connections": "  connection {\n    host = 1\n  }\n  connection {\n    host = 2\n  }\n",
  "a removed provisioner": '  provisioner "chef" {}\n',
  "self outside": "  input = self.id\n",
  "an attribute that the object does not have": echo("${self.nothing}"),
  "no connection": '  provisioner "remote-exec" {\n    inline = ["x"]\n  }\n',
};

describe("provisioners as the real command validates them", { timeout: 300_000 }, () => {
  it.each(Object.entries(WRONG))("%s", async (_name, body) => {
    const text = `variable "x" {\n  default = 1\n}\n${data("a", `  for_each = { k = "v" }\n${body}`)}`;
    const cwd = await folder();
    await writeFile(join(cwd, "main.tf"), text);
    await reference(["init", "-no-color"], cwd);
    const expected = JSON.parse((await reference(["validate", "-json"], cwd)).text) as {
      valid: boolean;
    };
    const { code } = await tryCommand(["validate"], { cwd, env: { ...ENV, HOME: cwd } });
    expect(code === 0).toBe(expected.valid);
  });
});
