import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { commandVersion } from "../command-version.ts";
import { startPageServer } from "../testing/page-blocks.ts";
import { createPageFolder } from "../testing/page-folder.ts";
import { pageText } from "../testing/page-tables.ts";
import { spawnCommand } from "../testing/spawned-command.ts";

// docs/upgrade.md as an operator follows it with one release; e2e/src/upgrade exchanges servers of former ones.

const PAGE = pageText("docs/upgrade.md");
const ROOT = join(import.meta.dirname, "../../../..");
const STORE = "sqlite:store";

/** The command of a step of the page, with the store of the test. */
function commandOf(pattern: RegExp): string {
  const [, words = ""] = pattern.exec(PAGE) ?? [];
  expect(words).toMatch(/^stackwright /);
  return words.replace("ADDRESS", STORE);
}

const UPGRADE = commandOf(/`(stackwright admin upgrade --dry-run --store ADDRESS)`/);

async function startStore() {
  const page = await createPageFolder({ STACKWRIGHT_KEY: "00".repeat(32) });
  await writeFile(join(page.folder, "main.tf"), 'resource "terraform_data" "a" {}\n');
  await page.shell(`stackwright up --yes --store ${STORE}`);
  const change = (statements: string): void => {
    using database = new DatabaseSync(join(page.folder, "store/store.db"));
    database.exec(statements);
  };
  /** What a command wrote and the code with which it ended. */
  const ended = async (
    command: string,
  ): Promise<{ readonly code: number; readonly text: string }> => {
    const text = await page.shell(`${command} 2>&1 || echo "code $?"`);
    return { code: Number(/^code (\d+)$/m.exec(text)?.[1] ?? "0"), text };
  };
  return { ...page, change, ended };
}

describe("the steps of the page", { timeout: 300_000 }, () => {
  it("lead from the question what changes to a server that is checked", async () => {
    const page = await startStore();
    const { shell, ended, change, folder } = page;
    expect(await ended(UPGRADE)).toMatchObject({
      code: 0,
      text: expect.stringContaining("No server, worker or command changes the store now."),
    });
    // The backup of step 2 is by a link to its page.
    await shell(`stackwright admin backup copy --store ${STORE}`);
    change("DROP TABLE history; PRAGMA user_version = 3");
    expect(await ended(UPGRADE)).toMatchObject({ code: 2 });
    expect(await ended(UPGRADE.replace(" --dry-run", ""))).toMatchObject({
      code: 0,
      text: expect.stringContaining("it was 3"),
    });

    const server = await startPageServer(
      `stackwright serve --store ${STORE} --bootstrap-file first.json`,
      page,
    );
    const used = await ended(UPGRADE);
    expect(used.text).toMatch(
      new RegExp(
        `^  server \\S+, release ${commandVersion().replaceAll(".", "\\.")}, that of this command$`,
        "m",
      ),
    );
    // One server on an embedded store.
    const second = spawnCommand(["serve", "--store", STORE, "--port", "0"], {
      cwd: folder,
      env: page.env,
    });
    onTestFinished(() => second[Symbol.asyncDispose]());
    expect(await second.ended).toBe(1);

    const [, checks = ""] = /^5\. Check (.*?)\n\n/ms.exec(PAGE) ?? [];
    const named = [...checks.matchAll(/`(.*?)`/g)].map(([, code]) => code);
    expect(named).toEqual(["stackwright version", "/readyz", "stackwright admin doctor"]);
    expect(await shell("stackwright version")).toContain(commandVersion());
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    const { info } = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
      readonly info: { readonly version: string };
    };
    expect(info.version).toBe(commandVersion());
    expect(await shell(`stackwright admin doctor --store ${STORE}`)).toContain("Nothing is stuck");
    expect(await server.stop()).toBe(0);
    expect(await shell(`stackwright plan --store ${STORE}`)).toContain("No changes.");
  });

  it("say by exit code 1 what the new version cannot read", async () => {
    const { change, ended } = await startStore();
    change(
      "UPDATE resource SET checksum = checksum + 1 WHERE rowid = (SELECT max(rowid) FROM resource)",
    );
    expect(await ended(UPGRADE)).toMatchObject({
      code: 1,
      text: expect.stringContaining("Damaged"),
    });
  });
});

it("an older version does not open a store of a newer layout, says it in the words of the page, and changes nothing", {
  timeout: 180_000,
}, async () => {
  const { folder, change, ended } = await startStore();
  change("PRAGMA user_version = 99");
  const before = readFileSync(join(folder, "store/store.db"));
  const [, back = ""] = /\n## Back again\n(.*?)\n## /s.exec(PAGE) ?? [];
  const words = [...back.matchAll(/_(the .*?)_/g)].map(([, text = ""]) => text);
  expect(words).toHaveLength(2);
  const shown: string[] = [];
  for (const command of ["plan", "up --yes", "admin verify"]) {
    const refused = await ended(`stackwright ${command} --store ${STORE}`);
    expect([command, refused.code]).toEqual([command, 1]);
    shown.push(refused.text);
  }
  const server = await ended(`stackwright serve --port 0 --store ${STORE}`);
  expect(server).toMatchObject({ code: 1 });
  shown.push(server.text);
  for (const text of shown) {
    const flat = text.replaceAll(/\s+[│|]?\s*/g, " ");
    expect(words.some((one) => flat.includes(one.replace("N", "99")))).toBe(true);
  }
  expect(readFileSync(join(folder, "store/store.db")).equals(before)).toBe(true);
});

it("the page names options, findings and a message that exist", { timeout: 60_000 }, async () => {
  const source = (path: string): string => readFileSync(join(ROOT, path), "utf8");
  const serve = await (await createPageFolder()).shell("stackwright serve --options");
  const worker = await (await createPageFolder()).shell("stackwright worker --help");
  for (const option of ["--drain-timeout", "--executor"]) {
    expect([PAGE.includes(option), serve.includes(option)]).toEqual([true, true]);
  }
  for (const option of ["--drain-seconds", "--server"]) {
    expect([PAGE.includes(`\`${option}`), worker.includes(option)]).toEqual([true, true]);
  }
  const [, message = "", finding = ""] = /its log has `(.*?)`.*? has `(\w+)`/.exec(PAGE) ?? [];
  expect(source("apps/engine/src/doctor/finding.ts")).toContain(`${finding}: {`);
  expect(source("apps/engine/src/remote-worker/start-remote-worker.ts")).toContain(message);
});
