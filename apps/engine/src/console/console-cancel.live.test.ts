import { expect, it } from "vitest";
import { startConsole } from "../testing/start-console.ts";
import { registerNotes, startNotesFunction } from "../testing/start-notes-function.ts";

const CONFIGURATION = `
terraform {
  required_providers {
    notes = {
      source  = "huawei.com/private-provider/notes"
      version = "1.0.0"
    }
  }
}
resource "notes_note" "first" { text = "x" }
resource "notes_note" "second" { text = notes_note.first.id }
`;

it("a step that ends during a cancel is shown as done, and what did not begin as not started", {
  timeout: 120_000,
}, async (context) => {
  const gate = Promise.withResolvers<void>();
  const functions = await startNotesFunction({ gate: gate.promise });
  const args = ["--functions", functions.table];
  const { page, server, token, request, waitFor, browser } = await startConsole(context, { args });
  await registerNotes(server.url, token);
  const run = await request(CONFIGURATION, { auto_apply: true });
  await waitFor(run, "applying");
  await page.goto(`${server.url}/console/p/default/s/one/r/${run}`);
  const steps = page.getByRole("table", { name: "Steps of the apply" });
  const row = (name: string) => steps.getByRole("row").filter({ hasText: `notes_note.${name}` });
  await row("first").waitFor();
  await page.getByRole("button", { name: "Cancel…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel the run" }).click();
  await page.getByRole("button", { name: "End at once…" }).waitFor();
  gate.resolve();
  await page.locator(".page-head .badge", { hasText: "partially applied" }).waitFor();
  await row("first").getByText("create done").waitFor();
  await row("second").getByText("create not started").waitFor();
  expect(browser.misbehavior).toEqual({ errors: [], violations: [], strangers: [] });
});
