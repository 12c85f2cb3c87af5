import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pageBlocks, startPageServer } from "../testing/page-blocks.ts";
import { createPageFolder } from "../testing/page-folder.ts";

// docs/tutorial.md as a reader follows it: its commands as they are written there, with another port.

const PAGE = "docs/tutorial.md";
const SERVE = "stackwright serve ";

it("the tutorial leads from an empty folder to a reviewed change and back", {
  timeout: 300_000,
}, async () => {
  const { folder, env, shell } = await createPageFolder({ NO_COLOR: "1" });
  const blocks = await pageBlocks(PAGE, "sh");
  const at = blocks.findIndex((block) => block.startsWith(SERVE));
  const alone = await shell(blocks.slice(0, at).join("\n"));
  expect(alone).toContain('"development-web-1"');
  expect(alone).toContain("2 passed, 0 failed");
  expect(alone).toMatch(/1 (?:destroyed|deleted)/);

  await mkdir(join(folder, "server"), { recursive: true });
  const cwd = join(folder, "shop");
  const { here } = await startPageServer(blocks[at] ?? "", { folder: cwd, env });
  const output = await shell(here(blocks.slice(at + 1).join("\n")), cwd);
  expect(output.match(/refused, as it should be/g)).toHaveLength(2);
  expect(output).toContain("one test failed");
  expect(output.match(/^Run \d+ is applied, revision \d+\.$/gm)).toHaveLength(4);
  const audit = await readFile(join(folder, "server/audit.txt"), "utf8");
  expect(audit).toContain("ben");
});
