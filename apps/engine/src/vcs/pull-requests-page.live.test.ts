import { execFile } from "node:child_process";
import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished, type TestContext } from "vitest";
import { giteaProgram, startGitea } from "../testing/start-gitea.ts";
import { startHookMaker } from "../testing/start-hook-maker.ts";
import { startServerProcess } from "../testing/start-server-process.ts";

// apps/engine/docs/pull-requests.md as a reader follows it: its commands as they are written there, with other ports and another place of terraform.

const run = promisify(execFile);
const MAIN = join(import.meta.dirname, "../main.ts");
const COMMAND = join(import.meta.dirname, "../../../cli/bin/stackwright.mjs");
const PAGE = join(import.meta.dirname, "../../docs/pull-requests.md");
const TERRAFORM = process.env["STACKWRIGHT_TERRAFORM"] ?? "/usr/local/bin/terraform";

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => void server.close(resolve));
  return port;
}

/** Skips a test that needs programs which are not here. */
async function requirePrograms(
  context: TestContext,
  programs: readonly (readonly [program: string, ...words: string[]])[],
): Promise<void> {
  for (const [program, ...words] of programs) {
    const isThere = await run(program, words).then(
      () => true,
      () => false,
    );
    context.skip(!isThere, `the commands of the page need ${program}, which is not installed`);
  }
}

/** The blocks of commands of the page up to a heading, or of one of its sections. */
async function blocksOf(part: { readonly until: string } | { readonly section: string }) {
  const page = await readFile(PAGE, "utf8");
  const text =
    "until" in part
      ? (page.split(`\n## ${part.until}\n`)[0] ?? "")
      : (page.split(`\n### ${part.section}\n`)[1]?.split(/\n##/)[0] ?? "");
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, content = ""]) => content);
}

/** A folder with the server of the page, and a shell that executes its blocks there. */
async function startReader(serve: string, ...more: readonly string[]) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "pull-requests-page-"));
  onTestFinished(() => scratch.remove());
  const folder = scratch.path;
  const storagePort = await freePort();
  const line = serve.trim().replace("7401", String(storagePort));
  const words = line.replace("/usr/local/bin/terraform", TERRAFORM).split(" ").slice(2);
  const { url } = await startServerProcess(MAIN, [...words, ...more], { cwd: folder });
  await mkdir(join(folder, "bin"));
  const program = `#!/bin/sh\nexec '${process.execPath}' '${COMMAND}' "$@"\n`;
  await writeFile(join(folder, "bin/stackwright"), program, { mode: 0o755 });
  const places = [join(folder, "bin"), dirname(TERRAFORM), dirname(process.execPath)];
  const shell = async (
    blocks: readonly string[],
    others: Readonly<Record<string, string>> = {},
  ): Promise<void> => {
    const addresses = {
      "http://127.0.0.1:7400": url,
      "127.0.0.1:7401": `127.0.0.1:${storagePort}`,
      ...others,
    };
    let script = blocks.join("\n");
    for (const [written, here] of Object.entries(addresses)) {
      script = script.replaceAll(written, here);
    }
    await run("bash", ["-ec", script], {
      cwd: folder,
      timeout: 200_000,
      env: {
        HOME: folder,
        CHECKPOINT_DISABLE: "1",
        GIT_CONFIG_NOSYSTEM: "1",
        PATH: [...places, process.env["PATH"]].join(":"),
      },
    });
  };
  const shown = async (name: string) => readFile(join(folder, name), "utf8");
  return { folder, url, shell, shown };
}

it("the page leads from an empty server to an applied pull request, a comparison with terraform, and back to it", {
  timeout: 240_000,
}, async (context) => {
  await requirePrograms(context, [
    ["curl", "--version"],
    ["git", "--version"],
    ["perl", "-MDigest::SHA", "-e", "1"],
    [TERRAFORM, "version"],
  ]);
  const [serve = "", ...blocks] = await blocksOf({ until: "What is affected" });
  expect(blocks).toHaveLength(9);
  const { shell, shown } = await startReader(serve);
  await shell(blocks);
  const comment = await shown("comment.md");
  expect(comment).toContain("## Stackwright: 1 stack is affected");
  expect(comment).toContain("| `web` | 1 to add, 0 to change, 0 to destroy, run 1 |");
  expect(comment).toContain("module.hello.terraform_data.word");
  expect(JSON.parse(await shown("merged.json"))).toMatchObject({
    state: "merged",
    apply_requested_by: "merge",
    applies: [{ stack: "web" }],
  });
  expect(await shown("shadow.md")).toContain(
    "| `web` | 0 to add, 1 to change, 0 to destroy, run 3; shadow: equal |",
  );
  expect(await shown("terraform.txt")).toContain("No changes.");
});

it("the page leads the same way with a real Gitea", { timeout: 300_000 }, async (context) => {
  const program = giteaProgram();
  if (program === undefined) {
    context.skip("TEST_TOOL_GITEA and TEST_POSTGRES_URL are not set");
    return;
  }
  await requirePrograms(context, [
    ["curl", "--version"],
    ["git", "--version"],
    [TERRAFORM, "version"],
  ]);
  const gitea = await startGitea(program);
  await expect.poll(gitea.isUp, { timeout: 60_000 }).toBe(true);
  const repository = { name: "infra", private: true, auto_init: true, default_branch: "main" };
  await gitea.call("ann", "POST", "/user/repos", repository);
  await gitea.call("ann", "PUT", "/repos/ann/infra/collaborators/bot", { permission: "admin" });

  const [serve = "", variables = ""] = await blocksOf({ until: "What is affected" });
  const { folder, url, shell, shown } = await startReader(serve, "--vcs-host", "127.0.0.1");
  const { ann = "", bot = "" } = gitea.tokens;
  const credentials = new URL(gitea.url);
  credentials.username = "ann";
  credentials.password = ann;
  await writeFile(join(folder, "gitea-token"), `${bot}\n`);
  await writeFile(join(folder, "user-token"), `${ann}\n`);
  await writeFile(join(folder, "gitea-credentials"), `${credentials.href.replace(/\/$/, "")}\n`);
  const hook = await blocksOf({ section: "A hook at Gitea or Forgejo" });
  const flow = await blocksOf({ section: "A pull request of Gitea, to its end and back" });
  expect(flow).toHaveLength(4);
  const stack = `curl -sS --fail-with-body "$API/stacks" -H "$AUTH" -H "$JSON" -d '{"name": "web"}'\n`;
  await shell([variables, stack, ...hook, ...flow], {
    "https://stackwright.example.com": url,
    "https://git.example.com": gitea.url,
    "acme/infra": "ann/infra",
  });
  // One comment of the server, from the plan to the merge; the other one is what the user said.
  const comments = JSON.parse(await shown("gitea-comments.json")) as { body: string }[];
  expect(comments).toHaveLength(2);
  expect(comments[0]?.body).toContain("module.hello.terraform_data.word");
  expect(comments[0]?.body).toContain("no changes, run 3");
  expect(await shown("gitea-shadow.json")).toContain(
    "| `web` | 0 to add, 1 to change, 0 to destroy, run 4; shadow: equal |",
  );
  expect(await shown("gitea-terraform.txt")).toContain("No changes.");
});

it("the page makes hooks at Gitea and GitHub whose deliveries the server takes", {
  timeout: 120_000,
}, async (context) => {
  await requirePrograms(context, [
    ["curl", "--version"],
    ["git", "--version"],
  ]);
  const [serve = "", variables = "", connect = ""] = await blocksOf({ until: "What is affected" });
  const git = await startHookMaker();
  const { folder, url, shell, shown } = await startReader(serve, "--vcs-host", "127.0.0.1");
  const tokens = { gitea: "gitea-secret", github: "reads-alone", "github-hook": "makes-hooks" };
  for (const [name, token] of Object.entries(tokens)) {
    await writeFile(join(folder, `${name}-token`), `${token}\n`);
  }
  const gitea = await blocksOf({ section: "A hook at Gitea or Forgejo" });
  const github = await blocksOf({ section: "A hook at GitHub" });
  expect([gitea.length, github.length]).toEqual([3, 3]);
  await shell([variables, connect, ...gitea, ...github], {
    "https://stackwright.example.com": url,
    "https://git.example.com": `${git.url}/gitea`,
    // The server asks the address of the API that belongs to the kind where none is given.
    'repository_url: "https://github.com/acme/infra.git",': `repository_url: "${git.url}/acme/infra.git", api_url: "${git.url}/github",`,
    "https://api.github.com": `${git.url}/github`,
  });

  const { secret, ...made } = git.hooks.get("gitea")?.asked.config ?? { secret: "" };
  expect(secret).not.toBe("");
  expect(made).toEqual({
    url: `${url}/hooks/vcs/default/default/infra-gitea`,
    content_type: "json",
  });
  expect(git.hooks.get("gitea")).toMatchObject({
    authorization: "token gitea-secret",
    asked: { type: "gitea", active: true },
  });
  expect(git.hooks.get("github")).toMatchObject({
    authorization: "Bearer makes-hooks",
    asked: {
      name: "web",
      active: true,
      events: ["push", "pull_request", "issue_comment"],
      config: { url: `${url}/hooks/vcs/default/default/infra-github`, content_type: "json" },
    },
  });
  expect(JSON.parse(await shown("github-deliveries.json"))).toMatchObject([{ status_code: 202 }]);
  await git.deliver("github", "push");
  const answers = git.deliveries.map(({ kind, status, answer }) => {
    const { event } = JSON.parse(answer) as { readonly event: unknown };
    return [kind, status, event];
  });
  expect(answers).toEqual([
    ["gitea", 202, "push"],
    ["github", 202, "ignored"],
    ["github", 202, "push"],
  ]);
});
