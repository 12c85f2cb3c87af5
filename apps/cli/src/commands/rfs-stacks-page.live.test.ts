import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { pageBlocks, startPageServer } from "../testing/page-blocks.ts";
import { createPageFolder } from "../testing/page-folder.ts";

// The first steps of apps/engine/docs/rfs-stacks.md as a reader without an SDK follows them: its commands as they are written there, with another port.

const PAGE = "apps/engine/docs/rfs-stacks.md";

it("the page about stacks of RFS leads to a stack by requests alone", {
  timeout: 120_000,
}, async (context) => {
  const hasCurl = spawnSync("curl", ["--version"]).status === 0;
  context.skip(!hasCurl, "the page's requests are made with curl, which is not installed");
  const page = await createPageFolder();
  const [serve = "", requests = ""] = await pageBlocks(PAGE, "sh");
  const { url } = await startPageServer(serve, page);
  expect(requests).toContain("http://localhost:7400");
  const output = await page.shell(requests.replaceAll("http://localhost:7400", url));
  const answers = output.replaceAll("}{", "}\n{").trim().split("\n");
  const [made, shown] = answers.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(made).toMatchObject({ stack_id: expect.any(String) });
  expect(shown).toMatchObject({ stack_name: "shop", stack_id: made?.["stack_id"] });
});
