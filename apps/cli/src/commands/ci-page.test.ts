import { execFileSync } from "node:child_process";
import { accessSync, constants, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { stackOfFolder } from "../repository/stack-of-folder.ts";
import { runInteractively } from "../testing/interactive-command.ts";
import { pageText, tableRows } from "../testing/page-tables.ts";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

// What docs/ci.md says; ci-scripts.live.test.ts runs its scripts, and ci-changed.test.ts has more of the folders that a change concerns.

const PAGE = pageText("docs/ci.md");
const EXAMPLES = join(import.meta.dirname, "../../../../examples/ci");
const VARIABLES = ["STACKWRIGHT_STORE", "STACKWRIGHT_TOKEN", "STACKWRIGHT_KEY"];

const resource = (input: string) => `resource "terraform_data" "a" {\n  input = ${input}\n}\n`;

/** An empty folder with a command that works in it; its state is there. */
async function workIn(files: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), "ci-page-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  for (const [path, text] of Object.entries(files)) await write(path, text);
  const env = { HOME: folder, STACKWRIGHT_KEY: "00".repeat(32) };
  const run = async (...words: readonly string[]) =>
    tryCommand(words, { cwd: folder, env, input: "" });
  const git = (...words: string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.com", ...words], {
      cwd: folder,
    });
  return { folder, env, write, run, git };
}

describe("the pipelines of the page", () => {
  const rows = tableRows(PAGE, "Service").filter(([, pipeline = ""]) => pipeline.startsWith("["));

  it.each(rows)("%s has one that names its place, its variables and the scripts", (...row) => {
    const [, pipeline = "", place = ""] = row;
    const file = /\]\(\.\.\/examples\/ci\/(.*)\)/.exec(pipeline)?.[1] ?? "";
    const text = readFileSync(join(EXAMPLES, file), "utf8");
    expect(text.split("\n")[0]).toContain(place.replaceAll("`", ""));
    for (const name of VARIABLES)
      expect([PAGE.includes(`\`${name}\``), text]).toEqual([true, expect.stringContaining(name)]);
    const scripts = [...text.matchAll(/ci\/(\S+\.sh)/g)].map(([, script = ""]) => script);
    expect(scripts.toSorted()).toEqual(["apply-changed.sh", "plan-changed.sh"]);
    for (const script of scripts) accessSync(join(EXAMPLES, script), constants.X_OK);
  });

  it("fetch the history by the settings that it names", () => {
    const settings = [...(/history\s\((.*?)\)/.exec(PAGE)?.[1] ?? "").matchAll(/`(.*?)`/g)];
    const pipelines = ["github.yml", "gitlab.yml"].map((file) =>
      readFileSync(join(EXAMPLES, file), "utf8"),
    );
    expect(settings.map(([, setting]) => setting)).toHaveLength(2);
    for (const [at, [, setting = ""]] of settings.entries()) {
      const checkouts = pipelines[at]?.split("actions/checkout").length ?? 0;
      expect(pipelines[at]?.split(setting).length).toBe(Math.max(checkouts, 2));
    }
  });

  it.each([".", "live/web", "a b/c", "modules/v1.2_x"])(
    "name the stack of %s as `adopt --all` does, which is one for two folders of the page",
    (folder) => {
      for (const script of ["plan-changed.sh", "apply-changed.sh"]) {
        const lines = readFileSync(join(EXAMPLES, script), "utf8").split("\n");
        const naming = lines.filter((line) => /^ {2}(?:if \[.*)?stack=|; then stack=/.test(line));
        const named = execFileSync("sh", ["-ec", `${naming.join("\n")}\nprintf %s "$stack"`], {
          env: { ...process.env, folder },
          encoding: "utf8",
        });
        expect(named).toBe(stackOfFolder("/", join("/", folder)));
      }
      const [, one = "", other = ""] = /name, as `(.*?)` and `(.*?)` would/.exec(PAGE) ?? [];
      expect(one).not.toBe(other);
      expect(stackOfFolder("/", `/${one}`)).toBe(stackOfFolder("/", `/${other}`));
    },
  );
});

it("the page says which folders a change concerns, and which not", async () => {
  const { folder, run, write, git } = await workIn({
    "live/web/main.tf": 'module "a" {\n  source = "../../modules/a"\n}\nvariable "x" {}\n',
    "live/gone/main.tf": resource("1"),
    "live/made/main.tf": 'output "o" {\n  value = file("../${terraform.workspace}.txt")\n}\n',
    "live/default.txt": "x",
    "values/prod.tfvars": 'x = "1"\n',
    "modules/a/main.tf": resource("1"),
    "modules/kept/main.tf": 'terraform {\n  backend "local" {}\n}\n',
    "modules/alone/main.tf": resource("1"),
    "live/both/main.tf": 'module "k" {\n  source = "../../modules/kept"\n}\n',
  });
  git("init", "-q", "-b", "main");
  git("add", ".");
  git("commit", "-q", "-m", "first");
  const changed = async (words: readonly string[] = []): Promise<string> =>
    (await run("ci", "changed", "--base", "main", ...words)).output;

  await rm(join(folder, "live/gone"), { recursive: true });
  await write("values/prod.tfvars", 'x = "2"\n');
  await write("live/default.txt", "y");
  expect(await changed()).toBe("");
  await write("modules/a/main.tf", resource("2"));
  expect(await changed()).toBe("live/web\n");
  // One that has a backend is a root module, called or not; one that none calls is listed as well.
  await write("modules/kept/more.tf", "");
  await write("modules/alone/more.tf", "");
  expect(await changed()).toBe("live/both\nlive/web\nmodules/alone\nmodules/kept\n");
  expect(JSON.parse(await changed(["--json"]))).toMatchObject({
    changed: expect.arrayContaining([
      { folder: "live/web", files: ["modules/a/main.tf"], file_count: 1 },
    ]),
    unchanged: ["live/made"],
  });
  // So a pipeline runs in the folder that has root modules alone.
  const below = await tryCommand(["ci", "changed", "--base", "main"], {
    cwd: join(folder, "live"),
    env: { HOME: folder },
  });
  expect(below.output).toBe("both\nweb\n");
});

/** What leads to an exit code of a command of the page; the words are those behind its name. */
type Trial = () => Promise<{ readonly code: number }>;

const BROKEN = "resource {\n";
const UNSTYLED = 'resource "terraform_data" "a" {\n    input=1\n}\n';
const TESTED = 'run "a" {\n  command = plan\n}\n';

/** By the first column, then by what the cell of a code says. */
const TRIALS: Readonly<Record<string, Readonly<Record<string, Trial>>>> = {
  "`plan`": {
    planned: async () => (await workIn({ "main.tf": resource("1") })).run("plan"),
    failed: async () => (await workIn({ "main.tf": resource("nothing") })).run("plan"),
  },
  "`plan --detailed-exitcode`": {
    "no changes": async () => {
      const { run } = await workIn({ "main.tf": resource("1") });
      await run("up", "--yes");
      return run("plan", "--detailed-exitcode");
    },
    failed: async () => (await workIn({ "main.tf": BROKEN })).run("plan", "--detailed-exitcode"),
    changes: async () =>
      (await workIn({ "main.tf": resource("1") })).run("plan", "--detailed-exitcode"),
  },
  "`up --yes`": {
    applied: async () => (await workIn({ "main.tf": resource("1") })).run("up", "--yes"),
    failed: async () => {
      const provisioner = `  provisioner "local-exec" {\n    command = "exit 3"\n  }\n}\n`;
      return (await workIn({ "main.tf": resource("1").replace(/\}\n$/, provisioner) })).run(
        "up",
        "--yes",
      );
    },
  },
  "`runs start`": {
    "applied or no change": async () => {
      const { start } = await onServer(resource("1"));
      expect(await start("--yes")).toMatchObject({ code: 0 });
      return start();
    },
    failed: async () => (await onServer(resource("nothing"))).start("--yes"),
    "waits for approval": async () => (await onServer(resource("1"))).start(),
  },
  "`fmt --check`": {
    "in style": async () => (await workIn({ "main.tf": resource("1") })).run("fmt", "--check"),
    failed: async () => (await workIn({ "main.tf": BROKEN })).run("fmt", "--check"),
    "not in style": async () => (await workIn({ "main.tf": UNSTYLED })).run("fmt", "--check"),
  },
  "`validate`": {
    valid: async () => (await workIn({ "main.tf": resource("1") })).run("validate"),
    failed: async () => (await workIn({ "main.tf": resource("nothing") })).run("validate"),
  },
  "`test`": {
    passed: async () =>
      (await workIn({ "main.tf": resource("1"), "a.tftest.hcl": TESTED })).run("test"),
    failed: async () =>
      (await workIn({ "main.tf": resource("nothing"), "a.tftest.hcl": TESTED })).run("test"),
  },
};

/** A folder whose runs are those of a server. */
async function onServer(text: string) {
  const [{ server, token }, { run, env }] = await Promise.all([
    startServer(),
    workIn({ "main.tf": text }),
  ]);
  Object.assign(env, { STACKWRIGHT_TOKEN: token });
  return {
    start: async (...words: readonly string[]) =>
      run("runs", "start", "--server", server.url, "--stack", "web/one", ...words),
  };
}

const CODES = tableRows(PAGE, "Command").flatMap(([command = "", ...cells]) =>
  cells.flatMap((cell, code) =>
    cell.split("; ").flatMap((part) => {
      const [, own, says = ""] = /^(?:\((\d)\) )?(.*)$/.exec(part) ?? [];
      return says === "" ? [] : [{ command, says, code: Number(own ?? code) }];
    }),
  ),
);

describe("an exit code of the page", { timeout: 60_000 }, () => {
  it.each(CODES)("of $command is $code: $says", async ({ command, says, code }) => {
    const trial = TRIALS[command]?.[says];
    if (trial === undefined) throw new Error("there is no trial of it");
    const ended = await trial();
    expect(ended.code, JSON.stringify(ended)).toBe(code);
  });

  it("is there for each trial", () => {
    const written = CODES.map(({ command, says }) => `${command} ${says}`);
    const tried = Object.entries(TRIALS).flatMap(([command, trials]) =>
      Object.keys(trials).map((says) => `${command} ${says}`),
    );
    expect(written.toSorted()).toEqual(tried.toSorted());
  });
});

it("its advice holds for a saved plan: encrypted, applied as it is, and refused once the state has changed", async () => {
  const { folder, run, write } = await workIn({
    "main.tf": `variable "word" {\n  default   = "hunter2hunter2"\n  sensitive = true\n}\n${resource("var.word")}`,
  });
  for (const command of ["plan --out FILE", "up FILE", "show --json FILE"]) {
    expect(PAGE).toContain(`\`${command}\``);
  }
  expect(await run("plan", "--out", "one.plan")).toMatchObject({ code: 0 });
  expect(await run("plan", "--out", "two.plan")).toMatchObject({ code: 0 });
  const stored = execFileSync("grep", ["--recursive", "--count", "--text", "hunter2", "."], {
    cwd: folder,
    encoding: "utf8",
  });
  expect(stored.split("\n").filter((line) => /:[1-9]/.test(line))).toEqual(["./main.tf:1"]);
  const { output } = await run("show", "--json", "one.plan");
  expect(JSON.parse(output)).toMatchObject({
    format_version: expect.stringMatching(/^1\./),
    resource_changes: [{ address: "terraform_data.a", change: { actions: ["create"] } }],
  });
  await write("elsewhere", "");
  expect(await run("up", "one.plan", "--yes")).toMatchObject({ code: 0 });
  const refused = await run("up", "two.plan", "--yes");
  expect(refused).toMatchObject({ code: 1, error: expect.stringContaining("revision") });
});

it("its advice holds for a lock: a job that waits continues once another one has ended", async () => {
  expect(PAGE).toContain("`--lock-timeout 15m` waits");
  const { folder, env, run } = await workIn({ "main.tf": resource("1") });
  const other = runInteractively(["up"], { cwd: folder, env });
  await other.waitFor(/Only "yes" is taken as a yes/);
  expect(await run("up", "--yes")).toMatchObject({
    code: 1,
    error: expect.stringContaining("lock"),
  });
  const waits = run("up", "--yes", "--lock-timeout", "15m");
  other.type("yes");
  expect(await other.ended, other.text()).toBe(0);
  expect(await waits).toMatchObject({ code: 0 });
});
