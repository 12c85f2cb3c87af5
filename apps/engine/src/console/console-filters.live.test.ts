import { expect, it } from "vitest";
import { startConsole } from "../testing/start-console.ts";
import { registerNotes, startNotesFunction } from "../testing/start-notes-function.ts";

const CONFIGURATION = `resource "terraform_data" "is_true" {}
resource "terraform_data" "b" {}
resource "terraform_data" "c" {}
resource "terraform_data" "d" {}
`;

it("filters follow their address, are written to it once, and are texts", {
  timeout: 180_000,
}, async (context) => {
  const functions = await startNotesFunction();
  const args = ["--functions", functions.table];
  const { page, server, token, request, waitFor, browser } = await startConsole(context, { args });
  await registerNotes(server.url, token);

  await page.addInitScript(
    "globalThis.writes = 0; const { replaceState } = History.prototype; History.prototype.replaceState = function (...args) { globalThis.writes++; return replaceState.apply(this, args); }",
  );
  await page.goto(`${server.url}/console/registry?q=foo`);
  const providers = page.getByLabel("Filter providers by name");
  await page.getByText("No provider matches the filter").waitFor();
  await page.getByRole("navigation").getByRole("link", { name: "Registry" }).first().click();
  await expect.poll(async () => providers.inputValue()).toBe("");
  expect(new URL(page.url()).search).toBe("");
  const digits = "12345678901234567890";
  const writes = async () => page.evaluate<number>("globalThis.writes");
  const before = await writes();
  await providers.pressSequentially(digits);
  await expect.poll(() => new URL(page.url()).search).toBe(`?q=${digits}`);
  const written = (await writes()) - before;
  expect(written).toBeGreaterThan(0);
  expect(written).toBeLessThan(digits.length);
  await page.reload();
  await expect.poll(async () => providers.inputValue()).toBe(digits);

  const run = await request(CONFIGURATION, {});
  await waitFor(run, "awaiting_approval");
  const plan = `${server.url}/console/p/default/s/one/r/${run}?tab=plan`;
  await page.goto(`${plan}&action=bogus`);
  const action = page.getByLabel("Filter by action");
  await action.waitFor();
  expect(await action.inputValue()).toBe("");
  await page.getByText("terraform_data.d").first().waitFor();
  await page.goto(`${plan}&q=true`);
  await page.getByText("terraform_data.is_true").first().waitFor();
  expect(await page.getByLabel("Filter changes").inputValue()).toBe("true");
  expect(await page.getByText("terraform_data.d").count()).toBe(0);
  expect(browser.misbehavior).toEqual({ errors: [], violations: [], strangers: [] });
});
