import { mkdir, mkdtempDisposable, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { expect, it, onTestFinished } from "vitest";
import { judgeNarrow } from "../testing/judge-narrow.ts";
import { isLoaded, startConsole, violationsOf } from "../testing/start-console.ts";
import { takePictures } from "../testing/take-pictures.ts";

// Objects of a real provider that are changed and deleted behind its back.

const LAB = process.env["TEST_TOOL_TERRAFORM_PROVIDER_LAB"] ?? "";
const SECRET = "cnry-hunter-two";

const configuration = (lab: string): string => `
terraform {
  required_providers {
    lab = { source = "example.com/acme/lab" }
  }
}
provider "lab" {
  directory = ${JSON.stringify(lab)}
}
resource "lab_object" "a" {
  for_each = toset(["x", "y"])
  name     = each.key
  network  = { cidr = "10.0.0.0/8", secret = ${JSON.stringify(SECRET)} }
}
`;

it("drift is looked at from all stacks down to the values, checked again, and planned away", {
  timeout: 240_000,
}, async (context) => {
  context.skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
  const scratch = await mkdtempDisposable(join(tmpdir(), "console-drift-"));
  onTestFinished(() => scratch.remove());
  const lab = join(scratch.path, "lab");
  await mkdir(lab);
  const rc = join(scratch.path, "rc");
  const overrides = `dev_overrides { "example.com/acme/lab" = ${JSON.stringify(dirname(LAB))} }`;
  await writeFile(rc, `provider_installation {\n${overrides}\ndirect {}\n}\n`);
  const options = { env: { TF_CLI_CONFIG_FILE: rc } };
  const { page, browser, request, waitFor, server } = await startConsole(context, options);

  // Nothing was checked yet, which is said with the way to a check.
  await page.getByRole("link", { name: "Drift" }).click();
  await page.getByText("No stack was checked yet").waitFor();
  await waitFor(await request(configuration(lab), { auto_apply: true }), "applied");
  for (const file of await readdir(lab)) {
    if (!file.endsWith(".json")) continue;
    const path = join(lab, file);
    const record = JSON.parse(await readFile(path, "utf8")) as { name: string };
    if (record.name === "x") await writeFile(path, JSON.stringify({ ...record, size: 7 }));
    if (record.name === "y") await rm(path);
  }

  await page.goto(`${server.url}/console/p/default/s/one/drift`);
  await page.getByRole("button", { name: "Set a rule…" }).click();
  await page.getByLabel("Minutes between two checks").fill("360");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("every 6 hours").waitFor();
  await page.getByRole("button", { name: "Check now" }).click();
  await page.getByText("1 changed, 1 deleted elsewhere").waitFor({ timeout: 90_000 });

  // Three activations from the stacks with drift to a plan that restores one.
  await page.goto(`${server.url}/console/drift`);
  await page.getByText("1 of 1 checked stacks differ from what is recorded").waitFor();
  await takePictures(page, "drift-of-stacks");
  await page.getByRole("table", { name: "Stacks with drift" }).getByText("one").click();
  await page.getByText("size = 1 -> 7").waitFor();
  await page.getByText('lab_object.a["y"] is gone').waitFor();
  await isLoaded(page);
  await takePictures(page, "drift-of-stack");
  expect(await page.content()).not.toContain(SECRET);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await violationsOf(page), colorScheme).toEqual([]);
  }
  await judgeNarrow(page, "drift");

  // What is known is let be, for a reason and a time, and counts again when somebody says so.
  await page.getByRole("button", { name: 'Ignore the drift of lab_object.a["y"]…' }).click();
  const dialog = page.getByRole("dialog", { name: "Ignore drift" });
  expect(await dialog.getByRole("button", { name: "Ignore" }).isDisabled()).toBe(true);
  await dialog.getByLabel("Reason").fill("moved by hand");
  await dialog.getByRole("button", { name: "Ignore" }).click();
  await page.getByText("1 changed elsewhere, 1 ignored").waitFor();
  await page.getByRole("button", { name: 'Ignore the drift of lab_object.a["x"]…' }).click();
  await dialog.getByLabel("What").selectOption("size");
  await dialog.getByLabel("Reason").fill("a trial");
  await dialog.getByRole("button", { name: "Ignore" }).click();
  await page.getByText("Nothing differs beside what is ignored.").waitFor();
  const ignored = page.getByRole("table", { name: /^Ignored/ });
  await ignored.getByRole("row", { name: /attribute size.*differs.*a trial/ }).waitFor();
  await ignored.getByRole("row", { name: /all of it.*gone.*moved by hand/ }).waitFor();
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await violationsOf(page), colorScheme).toEqual([]);
  }
  await page.goto(`${server.url}/console/drift`);
  await page.getByText("0 of 1 checked stacks differ").waitFor();
  await page.getByText("; 2 objects that differ are ignored").waitFor();
  await page.getByRole("main").getByRole("link", { name: "default/one" }).click();
  for (const of of ["size", "all"]) {
    await ignored.getByRole("button", { name: new RegExp(`^Count again: ${of} of`) }).click();
  }
  await page.getByText("1 changed, 1 deleted elsewhere").waitFor();

  // Several at once: one reason, one time.
  const several = page.getByRole("dialog", { name: "Ignore the drift of 2 objects" });
  expect(await page.getByRole("button", { name: "Ignore 0 selected…" }).isDisabled()).toBe(true);
  await page.getByLabel("Select all that are listed").check();
  await page.getByLabel('Select lab_object.a["y"]').uncheck();
  await page.getByRole("button", { name: "Ignore 1 selected…" }).waitFor();
  await page.getByLabel('Select lab_object.a["y"]').check();
  await page.getByRole("button", { name: "Ignore 2 selected…" }).click();
  await several.getByRole("list", { name: "Objects" }).getByText('lab_object.a["y"]').waitFor();
  await several.getByLabel("Reason").fill("the same trial");
  await several.getByLabel("days").fill("2");
  await judgeNarrow(page, "ignore-drift");
  await several.getByRole("button", { name: "Ignore" }).click();
  await page.getByText("Nothing differs beside what is ignored.").waitFor();
  await ignored.getByRole("row", { name: /attribute size.*the same trial/ }).waitFor();
  await ignored.getByRole("row", { name: /all of it.*the same trial/ }).waitFor();
  for (const of of ["size", "all"]) {
    await ignored.getByRole("button", { name: new RegExp(`^Count again: ${of} of`) }).click();
  }
  await page.getByText("1 changed, 1 deleted elsewhere").waitFor();
  await page.getByRole("button", { name: "Plan to restore…" }).click();
  await page.getByRole("button", { name: "Plan", exact: true }).click();
  await page.getByText(/lab_object\.a\["y"\] will be created/).waitFor({ timeout: 90_000 });

  await page.goto(`${server.url}/console/?state=drift`);
  await page.getByRole("link", { name: "drift: 2 objects" }).waitFor();
  expect(browser.misbehavior).toEqual({ errors: [], violations: [], strangers: [] });
});
