import { mkdir, mkdtempDisposable, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { runInteractively } from "../testing/interactive-command.ts";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

const MAIN = `
variable "word" { default = "hello" }
resource "terraform_data" "a" { input = var.word }
resource "terraform_data" "b" { input = terraform_data.a.id }
output "word" { value = terraform_data.a.output }
`;

describe("runs on a server", { timeout: 60_000 }, () => {
  let folder: string;
  let env: Record<string, string>;

  beforeEach(async () => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "runs-"));
    onTestFinished(() => scratch.remove());
    folder = join(scratch.path, "stack");
    await mkdir(folder);
    await writeFile(join(folder, "main.tf"), MAIN);
    env = { HOME: scratch.path };
  });

  /** A server with the user logged in to it. */
  const logIn = async (executor?: "in-process" | "none") => {
    const { server, token } = await startServer(executor);
    const login = await stackwright("login", "--server", server.url, { input: `${token}\n` });
    expect(login, login.error).toMatchObject({ code: 0, error: "" });
    return { server, token, output: login.output };
  };
  const stackwright = async (...given: readonly (string | { readonly input: string })[]) => {
    const words = given.filter((one) => typeof one === "string");
    const input = given.find((one) => typeof one === "object");
    return tryCommand(words, { cwd: folder, env, ...input });
  };
  const start = (...words: readonly string[]) =>
    runInteractively(["runs", "start", "--stack", "web/one", ...words], { cwd: folder, env });

  it("login stores a token that the server accepts, for the user alone; logout removes it", async () => {
    const { server, token, output } = await logIn();
    const file = join(env["HOME"] ?? "", ".config/stackwright/credentials.json");
    expect(output).toContain(file);
    expect(output).not.toContain(token);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(file, "utf8"))).toEqual({
      current: server.url,
      servers: { [server.url]: { token } },
    });
    const wrong = await stackwright("login", "--server", server.url, { input: "wrong\n" });
    expect(wrong.code).toBe(1);
    expect(wrong.error).toContain("does not accept the token");
    const host = await stackwright("login", "not a host");
    expect([host.code, host.error]).toEqual([1, expect.stringContaining("--server URL")]);
    expect((await stackwright("login")).error).toContain("Use --server URL");
    expect((await stackwright("logout")).code).toBe(0);
    expect((await stackwright("logout")).error).toContain("You are not logged in.");
    expect((await stackwright("runs", "list")).error).toContain("No server is named");
  });

  it("start shows the plan, asks, applies, and ends with the outcome", async () => {
    await logIn();
    const run = start();
    await run.waitFor(/Only "yes" is taken as a yes/);
    expect(run.text()).toContain("# terraform_data.a will be created");
    expect(run.text()).toContain("Plan: 2 to add, 0 to change, 0 to destroy.");
    expect(run.text()).toContain("(known after apply)");
    run.type("yes");
    expect(await run.ended, run.text()).toBe(0);
    expect(run.text()).toContain("terraform_data.a: Creation complete");
    expect(run.text()).toContain("Run 1 is applied, revision 2.");

    // A second run changes one object, and the third one nothing.
    await writeFile(join(folder, "main.tf"), MAIN.replace('"hello"', '"other"'));
    await writeFile(join(folder, "terraform.tfstate"), "{}");
    const second = await stackwright("runs", "start", "--stack", "web/one", "--yes");
    expect(second.code, second.output).toBe(0);
    expect(second.error).toContain(
      'Not uploaded, as states and .env files hold secrets: "terraform.tfstate".',
    );
    expect(second.output).toContain('"hello" -> "other"');
    expect(second.output).toContain("Run 2 is applied");
    const third = await stackwright("runs", "start", "--stack", "web/one", "--auto-approve");
    expect([third.code, third.output]).toEqual([0, expect.stringContaining("has no changes")]);

    const list = await stackwright("runs", "list", "--stack", "web/one", "--json");
    expect((JSON.parse(list.output) as { phase: string }[]).map(({ phase }) => phase)).toEqual([
      "no_changes",
      "applied",
      "applied",
    ]);
    const shown = await stackwright("runs", "show", "1", "--stack", "web/one");
    expect(shown.output).toContain("Run 1 is applied.");
    expect(shown.output).toContain("# terraform_data.b will be created");
    const logs = await stackwright("runs", "logs", "2", "--stack", "one", "--project", "web");
    expect(logs.output).toContain("terraform_data.a: Modifications complete");
  });

  it("an answer other than yes discards the plan; retry requests the run again", async () => {
    await logIn();
    const run = start("--target", "terraform_data.a", "--message", "first");
    await run.waitFor(/Only "yes" is taken as a yes/);
    run.type("y");
    expect(await run.ended, run.text()).toBe(1);
    expect(run.text()).toContain("Run 1 is discarded");
    const again = await stackwright("runs", "retry", "1", "--stack", "web/one", "--yes", "--json");
    expect(again.code, again.error).toBe(0);
    const lines = again.output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; run?: object; plan?: object });
    expect(lines.at(-1)).toMatchObject({
      type: "run",
      run: { number: 2, phase: "applied", message: "first", targets: ["terraform_data.a"] },
    });
    const list = await stackwright("runs", "list", "--stack", "web/one", "--json");
    const [repeated, first] = JSON.parse(list.output) as { id: string; retry_of?: string }[];
    expect(repeated?.retry_of).toBe(first?.id);
    const applied = await stackwright("runs", "retry", "2", "--stack", "web/one", "--yes");
    expect([applied.code, applied.error]).toEqual([
      1,
      expect.stringContaining("illegal_transition"),
    ]);
    expect(lines.find(({ type }) => type === "plan")?.plan).toMatchObject({
      summary: { create: 1 },
    });
  });

  it("without a terminal a run waits for approve, discard and cancel", async () => {
    await logIn();
    const waits = await stackwright("runs", "start", "--stack", "web/one");
    expect([waits.code, waits.error]).toEqual([2, ""]);
    expect(waits.output).toContain("Run 1 waits for approval.");
    const place = ["--stack", "web/one"];
    const asked = await stackwright("runs", "approve", ...place);
    expect(asked.error).toContain("Use --yes");
    const wrong = await stackwright("runs", "approve", ...place, "--plan-digest", "0".repeat(64));
    expect(wrong.error).toContain("plan_changed");
    const approved = await stackwright("runs", "approve", ...place, "--yes", "--comment", "fine");
    expect(approved.code, approved.error).toBe(0);
    const followed = await stackwright("runs", "logs", "-f", "1", ...place);
    expect([followed.code, followed.output]).toEqual([0, expect.stringContaining("is applied")]);
    expect(followed.output).toContain("Approved by");

    await stackwright("runs", "start", ...place, "--destroy");
    const discarded = await stackwright("runs", "discard", ...place, "--reason", "not now");
    expect(discarded.output).toContain("Run 2 is discarded.");
    await stackwright("runs", "start", ...place, "--destroy");
    const canceled = await stackwright("runs", "cancel", ...place);
    expect(canceled.output).toContain("Run 3 is canceled");
    expect((await stackwright("runs", "cancel", "3", ...place)).error).toContain("run_ended");
    expect((await stackwright("runs", "show", "9", ...place)).error).toContain("has no run 9");
  });

  it("a run that waits for a freeze says so, and is applied by an override", async () => {
    await logIn();
    const place = ["--stack", "web/one"];
    await stackwright("runs", "start", ...place);
    const none = await stackwright("runs", "freeze", ...place);
    expect(none.error).toContain("A freeze needs a reason");
    const frozen = await stackwright("runs", "freeze", ...place, "--reason", "audit");
    expect(frozen.output).toBe('The stack "web/one" is frozen.\n');
    await stackwright("runs", "freeze", ...place, "--whole-project", "--reason", "fair");
    await stackwright("runs", "approve", ...place, "--yes");
    const followed = runInteractively(["runs", "logs", "-f", ...place], { cwd: folder, env });
    await followed.waitFor(/not applied while the project "web" is frozen by .*: fair/);
    expect(followed.text()).toMatch(
      /not applied while the stack "web\/one" is frozen by .*: audit/,
    );
    const shown = await stackwright("runs", "show", ...place);
    expect(shown.output).toMatch(/the project "web" is frozen by .*: fair/);
    const override = ["runs", "override-freeze", "1", ...place];
    expect((await stackwright(...override)).error).toContain("An override needs a reason");
    const passes = await stackwright(...override, "--reason", "hot fix");
    expect(passes.output).toBe("Run 1 may be applied during a freeze.\n");
    expect(await followed.ended, followed.text()).toBe(0);
    expect(followed.text()).toContain("Run 1 is applied");
    const after = await stackwright("runs", "show", ...place);
    expect(after.output).toMatch(/Freeze +overridden by .*: hot fix/);
  });

  it("uploads the modules of a repository that the configuration calls", async () => {
    await logIn();
    await mkdir(join(folder, ".git"));
    await mkdir(join(folder, "modules/words"), { recursive: true });
    await mkdir(join(folder, "stacks/web"), { recursive: true });
    await writeFile(
      join(folder, "modules/words/main.tf"),
      'output "word" { value = file("${path.module}/word.txt") }\n',
    );
    await writeFile(join(folder, "modules/words/word.txt"), "of the module");
    await writeFile(
      join(folder, "stacks/web/main.tf"),
      'module "words" { source = "../../modules/words" }\noutput "word" { value = module.words.word }\n',
    );
    for (const more of [[], ["--root", "."]]) {
      const done = await stackwright(
        "runs",
        "start",
        "stacks/web",
        "--stack",
        "web/one",
        "--yes",
        ...more,
      );
      expect([done.code, done.error]).toEqual([0, ""]);
    }
    const plan = ["runs", "start", "stacks/web", "--stack", "web/one", "--source", "branch"];
    expect((await stackwright(...plan)).error).toContain("--source goes with --plan-only.");
    expect((await stackwright(...plan, "--plan-only")).code).toBe(0);
    const last = await stackwright("runs", "show", "--stack", "web/one", "--json");
    expect(JSON.parse(last.output)).toMatchObject({ source: "branch" });
    const outside = await stackwright(
      "runs",
      "start",
      ".",
      "--stack",
      "web/one",
      "--root",
      "stacks",
    );
    expect(outside.error).toContain("--root names a folder above");
    // A file that a function reads is not looked for: it comes with the folder that is named.
    await writeFile(join(folder, "motd.txt"), "of the repository");
    for (const module of ["", 'module "words" { source = "../../modules/words" }\n']) {
      await writeFile(
        join(folder, "stacks/web/main.tf"),
        `${module}output "motd" { value = file("../../motd.txt") }\n`,
      );
      const place = ["runs", "start", "stacks/web", "--stack", "web/two", "--yes"];
      const refused = await stackwright(...place);
      expect(refused.code).toBe(1);
      expect(refused.output + refused.error).toMatch(/upload\s+a\s+folder\s+above/);
      expect(refused.output + refused.error).toContain("--root");
      expect((await stackwright(...place, "--root", ".")).code).toBe(0);
    }
  });

  it("warns of functions that look for files which were not uploaded", async () => {
    await logIn();
    for (const path of [".git", "stacks/web", "modules/words", "shared"]) {
      await mkdir(join(folder, path), { recursive: true });
    }
    await writeFile(join(folder, "modules/words/main.tf"), "");
    await writeFile(join(folder, "shared/a.json"), "{}");
    await writeFile(
      join(folder, "stacks/web/main.tf"),
      `module "words" {
  source = "../../modules/words"
}
locals {
  exists = fileexists("../../shared/a.json")
  set    = fileset("../../shared", "*.json")
  own    = [fileexists("none"), fileset("none", "*"), fileexists("../../modules/words/none")]
}
output "found" {
  value = "\${local.exists}, \${length(local.set)}, \${length(local.own)}"
}
`,
    );
    const place = ["runs", "start", "stacks/web", "--stack", "web/one", "--plan-only"];
    const { output } = await stackwright(...place);
    const text = output.replaceAll(/\s+/g, " ");
    expect(text).toContain("false, 0, 3");
    expect(text.match(/Warning: Result may be incomplete/g)).toHaveLength(2);
    expect(text).toMatch(
      /on main\.tf line 5\b.*"fileexists" gives false for "\.\.\/\.\.\/shared\/a\.json".*--root ABOVE/,
    );
    expect(text).toMatch(
      /on main\.tf line 6\b.*"fileset" gives only the files in "\.\.\/\.\.\/shared".*--root ABOVE/,
    );
    const whole = await stackwright(...place, "--root", ".");
    expect(whole.output).toContain("true, 1, 3");
    expect(whole.output).not.toContain("Warning");
  });

  it("asks only those whose approval would count: the run waits for another person", async () => {
    await logIn();
    await stackwright("projects", "create", "web", "--exclude-author");
    const run = start();
    expect(await run.ended, run.text()).toBe(2);
    expect(run.text()).toContain("Its plan is approved by another person.");
    expect(run.text()).toContain("Run 1 waits for approval.");
    expect(run.text()).not.toContain('Only "yes"');
    // A plan that is not applied needs no approval.
    const planned = start("--plan-only");
    expect(await planned.ended, planned.text()).toBe(0);
    expect(planned.text()).not.toContain("another person");
  });

  it("the decision of another user ends the question", async () => {
    await logIn();
    const run = start();
    await run.waitFor(/Only "yes" is taken as a yes/);
    await stackwright("runs", "approve", "--stack", "web/one", "--yes");
    expect(await run.ended, run.text()).toBe(0);
    expect(run.text()).toContain("Run 1 is applied");
  });

  it("Ctrl-C leaves the run on the server, or cancels it where the user says so", async () => {
    await logIn("none");
    const left = start();
    await left.waitFor(/waits in the queue/);
    left.interrupt();
    await left.waitFor(/Cancel run 1\?/);
    left.type("no");
    expect(await left.ended).toBe(130);
    expect(left.text()).toContain("stackwright runs logs -f 1 --stack web/one");
    const show = await stackwright("runs", "show", "1", "--stack", "web/one", "--json");
    expect(JSON.parse(show.output)).toMatchObject({ phase: "queued" });

    const canceled = runInteractively(["runs", "logs", "-f", "--stack", "web/one"], {
      cwd: folder,
      env,
    });
    await canceled.waitFor(/waits in the queue/);
    canceled.interrupt();
    await canceled.waitFor(/Cancel run 1\?/);
    canceled.type("yes");
    expect(await canceled.ended, canceled.text()).toBe(1);
    expect(canceled.text()).toContain("Run 1 is canceled");
  });

  it("shows what is wrong with a configuration and with a request", async () => {
    await logIn();
    await writeFile(join(folder, "main.tf"), 'resource "terraform_data" "a" { input = var.none }');
    const failed = await stackwright("runs", "start", "--stack", "web/one");
    expect(failed.code).toBe(1);
    expect(failed.output).toMatch(/Error: .*\n {2}on main\.tf line 1/);
    expect(failed.output).toContain("Run 1 failed");
    const mode = await stackwright("runs", "start", "--destroy", "--plan-only");
    expect(mode.error).toContain("exclude one another");
    const away = await stackwright("runs", "list", "--server", "http://127.0.0.1:9");
    expect(away.error).toContain("You are not logged in to http://127.0.0.1:9");
    env["STACKWRIGHT_TOKEN"] = "x";
    const refused = await stackwright("runs", "list");
    expect(refused.error).toContain("unauthenticated");
  });
});
