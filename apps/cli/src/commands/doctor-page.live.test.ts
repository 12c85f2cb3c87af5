import { join } from "node:path";
import { expect, it } from "vitest";
import { pageBlocks, startPageServer } from "../testing/page-blocks.ts";
import { createPageFolder } from "../testing/page-folder.ts";

// The commands of apps/engine/docs/doctor.md as an operator gives them: against a server, and against its store while it runs.

const PAGE = "apps/engine/docs/doctor.md";

it("the page about the doctor leads to what is stuck on a server and in its store", {
  timeout: 120_000,
}, async () => {
  const page = await createPageFolder();
  const [server = "", store = "", ...blocks] = await pageBlocks(PAGE, "sh");
  expect(blocks).toEqual([]);
  await page.shell("head -c 32 /dev/urandom | base64 > key");
  const { url } = await startPageServer(
    "stackwright serve --store sqlite:data --key-file key --bootstrap-file first.json",
    page,
  );
  const token = `export STACKWRIGHT_TOKEN=$(node -p 'require("./first.json").token')\n`;
  const here = server.replace("https://stackwright.example.com", url);
  expect(here).not.toBe(server);
  expect(await page.shell(token + here)).toContain("Nothing is stuck");
  const answer = JSON.parse(await page.shell(`${token}${here.trim()} --json`)) as unknown;
  expect(answer).toMatchObject({ total: 0, findings: [] });

  const address = `sqlite:${join(page.folder, "data")}`;
  const examined = store.replace("postgres://stackwright@db.example.com/stackwright", address);
  expect(examined).not.toBe(store);
  expect(await page.shell(examined)).toContain("Nothing is stuck");
  await expect(
    page.shell(`stackwright admin doctor --server http://127.0.0.1:1`),
  ).rejects.toMatchObject({ code: 1 });
});
