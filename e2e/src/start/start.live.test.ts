import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { cp, mkdir, mkdtempDisposable, readFile, symlink, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, type TestContext } from "vitest";

/* `npm start` after its installation, in a copy of the example: what a new user sees, and what is left when it ends. */

const ROOT = join(import.meta.dirname, "../../..");
/** What earlier runs made. */
const MADE = new Set([".stackwright", "site", "notes", "terraform.d", ".terraform.lock.hcl"]);

/** Uses the private provider without anything of ours. */
const OF_TERRAFORM = `
terraform {
  required_providers {
    notes = {
      source  = "huawei.com/private-provider/notes"
      version = "1.0.0"
    }
  }
}
resource "notes_note" "a" {
  name = "by-terraform"
  text = "hello"
}
`;

const CTRL_C = "\u0003";
/** The question of the command about its own plan, and about the plan of the server. */
const HERE = /Do this\? Only "yes" is taken as a yes/;
const THERE = /Apply this plan\? Only "yes" is taken as a yes/;

interface Running {
  readonly child: ChildProcess;
  readonly text: () => string;
  readonly ended: Promise<number | null>;
  waitFor(pattern: RegExp): Promise<void>;
}

describe("npm start", { timeout: 300_000 }, () => {
  let cleanup: AsyncDisposableStack;
  let root: string;
  let folder: string;

  beforeEach(async () => {
    cleanup = new AsyncDisposableStack();
    root = cleanup.use(await mkdtempDisposable(join(tmpdir(), "a path with spaces "))).path;
    folder = join(root, "examples/quickstart");
    await mkdir(folder, { recursive: true });
    for (const name of ["apps", "packages", "node_modules"]) {
      await symlink(join(ROOT, name), join(root, name));
    }
    await cp(join(ROOT, "examples/quickstart"), folder, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (source) => !MADE.has(basename(source)),
    });
  });
  afterEach(async () => {
    await cleanup.disposeAsync();
  });

  const watch = (child: ChildProcess): Running => {
    cleanup.defer(() => void child.kill("SIGKILL"));
    let text = "";
    const collect = (chunk: Buffer): void => {
      text += chunk.toString();
      child.emit("text");
    };
    child.stdout?.on("data", collect);
    child.stderr?.on("data", collect);
    const ended = new Promise<number | null>((resolve) => {
      child.once("close", resolve);
    });
    const waitFor = (pattern: RegExp): Promise<void> =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (pattern.test(text)) resolve();
        };
        child.on("text", look);
        child.once("close", () => reject(new Error(`it ended without ${pattern}: ${text}`)));
        look();
      });
    return { child, text: () => text, ended, waitFor };
  };
  const start = (...options: string[]): Running =>
    watch(
      spawn(process.execPath, [join(folder, "start.ts"), ...options], {
        cwd: root,
        stdio: ["ignore", "pipe", "pipe"],
      }),
    );
  const run = async (...options: string[]) => {
    const running = start(...options);
    return { code: await running.ended, text: running.text() };
  };
  /** Processes of this copy, whatever they are. */
  const left = (): string[] =>
    readdirSync("/proc").flatMap((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
        return /^\d+$/.test(pid) && words.includes(root) ? [words] : [];
      } catch {
        return [];
      }
    });
  const nothingIsLeft = async () => {
    await expect.poll(left, { timeout: 20_000 }).toEqual([]);
  };

  it("deploys with a private provider, has nothing to do the second time, and leaves nothing running", async () => {
    const first = await run("--port", "0");
    expect(first.code, first.text).toBe(0);
    expect(first.text).toContain("huawei.com/private-provider/notes");
    expect(first.text).toContain("7 added, 0 changed, 0 destroyed");
    expect(first.text).toContain("Run 1 is applied");
    expect(first.text).toContain("Everything has stopped.");
    expect(await readFile(join(folder, "notes/release.txt"), "utf8")).toContain("Quickstart: 2");
    expect(existsSync(join(folder, "site/index.html"))).toBe(true);
    await nothingIsLeft();

    const second = await run("--port", "0", "--once");
    expect(second.code, second.text).toBe(0);
    expect(second.text).toContain("notes 1.0.0 is registered already");
    expect(second.text).not.toContain("added");
    expect(second.text).toContain("Run 2 has no changes");
    await nothingIsLeft();
  });

  it("says that a port is taken, and which option takes others", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    cleanup.defer(() => void server.close());
    const { port } = server.address() as AddressInfo;
    for (const given of [port, port - 1]) {
      const { code, text } = await run("--port", String(given));
      expect(code).toBe(1);
      expect(text).toContain(`Port ${port} of this machine cannot be used`);
      expect(text).toContain("npm start -- --port");
      expect(text).not.toMatch(/^ +at /m);
    }
    expect((await run("--port", "x")).text).toContain('"x" is not a usable port');
    await nothingIsLeft();
  });

  it("continues after it was killed in the middle, and leaves nothing running then either", async () => {
    const killed = start("--port", "0");
    await killed.waitFor(/stackwright up: plan and apply/);
    killed.child.kill("SIGKILL");
    await killed.ended;
    await nothingIsLeft();
    const again = await run("--port", "0");
    expect(again.code, again.text).toBe(0);
    expect(existsSync(join(folder, "notes/release.txt"))).toBe(true);
    await nothingIsLeft();
  });

  it("stops everything on request", async () => {
    const stopped = start("--port", "0");
    await stopped.waitFor(/stackwright up: plan and apply/);
    stopped.child.kill("SIGTERM");
    expect(await stopped.ended).toBe(130);
    await nothingIsLeft();
  });

  /** In a terminal, as a user starts it. */
  const startInTerminal = (ctx: TestContext, ...options: string[]) => {
    ctx.skip(
      spawnSync("script", ["--version"]).status !== 0,
      "there is no command script, which gives a terminal",
    );
    const words = [process.execPath, join(folder, "start.ts"), "--port", "0", ...options];
    // Without exec some shells stay between, and answer Ctrl-C themselves.
    const line = `exec ${words.map((word) => `'${word}'`).join(" ")}`;
    const running = watch(
      spawn("script", ["--quiet", "--return", "--command", line, "/dev/null"], {
        cwd: root,
        // Colors stand between the words that are waited for.
        env: { ...process.env, NO_COLOR: "1" },
        stdio: ["pipe", "pipe", "pipe"],
      }),
    );
    return { ...running, type: (keys: string) => void running.child.stdin?.write(keys) };
  };
  /** As the console does: with the digest of the plan that it shows. */
  const approve = async (server: string, run: string) => {
    const env = await readFile(join(folder, ".stackwright/env"), "utf8");
    const token = /STACKWRIGHT_TOKEN='([^']+)'/.exec(env)?.[1] ?? "";
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const at = `${server}/api/v1/projects/default/stacks/server-run/runs/${run}`;
    const shown = (await (await fetch(at, { headers })).json()) as { plan_digest: string };
    const body = JSON.stringify({ plan_digest: shown.plan_digest });
    const answer = await fetch(`${at}/approvals`, { method: "POST", headers, body });
    expect(answer.ok, await answer.text()).toBe(true);
  };

  it("in a terminal a person approves, here and in the console; it stays until Ctrl-C, and says how to continue", async (ctx) => {
    const running = startInTerminal(ctx);
    await running.waitFor(HERE);
    expect(running.text()).toContain("Plan: 7 to add");
    expect(existsSync(join(folder, "site/index.html"))).toBe(false);
    running.type("yes\r");
    await running.waitFor(THERE);
    const [, server = "", run = ""] =
      /(http:\S+)\/console\/p\/default\/s\/server-run\/r\/(\w+)#code=\w/.exec(running.text()) ?? [];
    await approve(server, run);
    await running.waitFor(/Run 1 is applied/);
    await running.waitFor(/These run until you press Ctrl-C/);
    await running.waitFor(/shows how to write and register/);
    const url = /(http:\S+) +the server/.exec(running.text())?.[1] ?? "";
    expect((await fetch(`${url}/readyz`)).status).toBe(200);

    // What it prints as the next steps, by hand.
    const command = join(root, "apps/cli/bin/stackwright.mjs");
    const script = `. .stackwright/env && '${process.execPath}' '${command}' up --yes -var title=Mine`;
    const byHand = spawnSync("sh", ["-c", script], { cwd: folder, encoding: "utf8" });
    expect(byHand.status, byHand.stderr).toBe(0);
    expect(await readFile(join(folder, "notes/release.txt"), "utf8")).toContain("Mine: 2");

    const list = `. .stackwright/env && '${process.execPath}' '${command}' runs list --stack server-run`;
    const runs = spawnSync("sh", ["-c", list], { cwd: folder, encoding: "utf8" });
    expect(runs.stdout, runs.stderr).toMatch(/^1 {2}applied {2}apply/);

    const elsewhere = join(root, "elsewhere");
    await mkdir(elsewhere);
    await writeFile(join(elsewhere, "main.tf"), OF_TERRAFORM);
    const version = spawnSync("terraform", ["version"], { encoding: "utf8" });
    if (version.status === 0) {
      const steps = `. '${folder}/.stackwright/env' && terraform init -no-color && terraform apply -auto-approve -no-color`;
      const unmodified = spawnSync("sh", ["-c", steps], { cwd: elsewhere, encoding: "utf8" });
      expect(unmodified.status, unmodified.stderr).toBe(0);
      expect(existsSync(join(folder, "notes/by-terraform.txt"))).toBe(true);
    } else await ctx.annotate("the command terraform is not installed, and was not tried", "note");

    running.type(CTRL_C);
    expect(await running.ended, running.text()).toBe(0);
    expect(running.text()).toContain("Everything has stopped.");
    await nothingIsLeft();
  });

  it("Ctrl-C at each question stops everything, and the next start asks again, or with --yes does not", async (ctx) => {
    const first = startInTerminal(ctx);
    await first.waitFor(HERE);
    first.type(CTRL_C);
    expect(await first.ended, first.text()).toBe(130);
    expect(first.text()).toContain("Everything has stopped.");
    expect(existsSync(join(folder, "site/index.html"))).toBe(false);
    await nothingIsLeft();

    const second = startInTerminal(ctx);
    await second.waitFor(HERE);
    second.type("no\r");
    await second.waitFor(/This stack stays as it is/);
    await second.waitFor(THERE);
    second.type(CTRL_C);
    await second.waitFor(/Cancel run 1\?/);
    second.type(CTRL_C);
    expect(await second.ended, second.text()).toBe(130);
    await nothingIsLeft();

    const third = startInTerminal(ctx, "--yes", "--once");
    expect(await third.ended, third.text()).toBe(0);
    expect(third.text()).toContain("Run 1 of an earlier start is canceled");
    expect(third.text()).toContain("Run 2 is applied");
    expect(third.text()).not.toMatch(HERE);
    expect(existsSync(join(folder, "site/index.html"))).toBe(true);
    await nothingIsLeft();
  });
});
