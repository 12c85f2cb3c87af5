import { execFile, spawnSync } from "node:child_process";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { startServerProcess } from "./testing/start-server-process.ts";

// apps/engine/docs/terraform-cloud.md as a user follows it: its commands as they are written there, with another port.

const run = promisify(execFile);
const MAIN = join(import.meta.dirname, "main.ts");
const PAGE = join(import.meta.dirname, "..", "docs", "terraform-cloud.md");

it("the page about the cloud block leads to an applied workspace", {
  timeout: 180_000,
}, async (context) => {
  for (const [command, word] of [
    ["terraform", "version"],
    ["openssl", "version"],
    ["curl", "--version"],
  ] as const) {
    context.skip(spawnSync(command, [word]).status !== 0, `${command} cannot be run here`);
  }
  const scratch = await mkdtempDisposable(join(tmpdir(), "cloud-page-"));
  onTestFinished(() => scratch.remove());
  const page = await readFile(PAGE, "utf8");
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, content = ""]) => content);
  const [certificate = "", serve = "", walk = "", remote = "", variables = ""] = blocks;
  const env = { HOME: scratch.path, PATH: `${dirname(process.execPath)}:${process.env["PATH"]}` };
  await run("sh", ["-ec", certificate], { cwd: scratch.path, env });
  const words = serve.trim().split(" ").slice(2);
  const { url } = await startServerProcess(MAIN, words, { cwd: scratch.path });
  // The page has this request for a workspace of another name, which does not exist in the walk.
  const cd =
    "cd ..\nmkdir site && cd site\nsed s/shop/site/ ../shop/main.tf > main.tf\nterraform init\ncd ..\n";
  const applied = "cd site\nterraform apply -auto-approve > apply.txt\n";
  const script = `${walk}${cd}${remote}${variables}${applied}`.replaceAll(
    "localhost:7400",
    `localhost:${new URL(url).port}`,
  );
  await run("sh", ["-ec", script], {
    cwd: scratch.path,
    timeout: 120_000,
    env: { ...env, CHECKPOINT_DISABLE: "1" },
  });
  expect(await readFile(join(scratch.path, "shop/greeting.txt"), "utf8")).toBe("hello");
  const state = await readFile(join(scratch.path, "shop/shop.tfstate"), "utf8");
  expect(JSON.parse(state)).toMatchObject({ version: 4, serial: 1 });
  const site = await readFile(join(scratch.path, "site/apply.txt"), "utf8");
  expect(site).toContain("Apply complete!");
  const all = await readFile(join(scratch.path, "all.json"), "utf8");
  expect(JSON.parse(all)).toMatchObject({
    data: [
      { attributes: { key: "region", value: "north" } },
      { attributes: { key: "TOKEN", value: null } },
    ],
  });
});
