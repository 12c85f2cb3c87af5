import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { policyBundle } from "../testing/policies/read-policies.ts";
import { isLoaded, startConsole, violationsOf } from "../testing/start-console.ts";

// One plan and one decision, and why something failed.

const CLI = join(import.meta.dirname, "../../../cli/src/main.ts");

const configuration = (word: string): string => `
resource "terraform_data" "old" {
  input            = "x"
  triggers_replace = ${JSON.stringify(word)}
}
`;

const FAILING = `
resource "terraform_data" "net" { input = "n" }
resource "terraform_data" "db" {
  input = terraform_data.net.output
  provisioner "local-exec" { command = "echo about-to-fail; exit 3" }
}
resource "terraform_data" "web" { input = terraform_data.db.output }
resource "terraform_data" "lb" { input = terraform_data.web.output }
`;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => void server.close(resolve));
  return port;
}

it("a plan is approved by what it does and what policies say, unless the state was changed meanwhile", {
  timeout: 240_000,
}, async (context) => {
  const storage = await freePort();
  const started = await startConsole(context, { args: ["--storage-port", String(storage)] });
  const { page, server, token, call, request, waitFor, scratch, browser } = started;
  await call("POST", "/policy-sets", { name: "security" });
  await call(
    "PUT",
    "/policy-sets/security/content?entrypoint=stackwright",
    Uint8Array.from(policyBundle()),
  );
  await waitFor(await request(configuration("a"), { auto_apply: true }), "applied");
  const run = await request(configuration("b"), { message: "rotate keys" });
  await waitFor(run, "awaiting_approval");

  // Three activations from the plan: what policies said, the dialog, the approval, by keyboard alone.
  await page.goto(`${server.url}/console/p/default/s/one/r/${run}`);
  await page.getByText("terraform_data.old must be replaced").first().waitFor();
  await page.getByText("rotate keys").waitFor();
  await page.getByRole("link", { name: "Policies" }).last().focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: /security passed/ }).waitFor();
  await page.getByRole("button", { name: "Approve…" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog");
  const { plan_digest: digest = "" } = await call(
    "GET",
    `/projects/default/stacks/one/runs/${run}`,
  );
  await dialog.getByText(digest.slice(0, 12)).waitFor();
  await dialog.getByText("1 to replace").waitFor();

  // Meanwhile a command changes the state: the dialog goes, and the page says who did what.
  const folder = join(scratch, "elsewhere");
  await mkdir(folder);
  await writeFile(join(folder, "main.tf"), configuration("by hand"));
  const store = `stackwright://127.0.0.1:${storage}`;
  const given = ["apply", "--auto-approve", "--store", store, "--stack", "one"];
  const env = { ...process.env, STACKWRIGHT_TOKEN: token, HOME: scratch };
  await promisify(execFile)(process.execPath, [CLI, ...given], { cwd: folder, env });
  await dialog.waitFor({ state: "detached", timeout: 60_000 });
  await page.getByText(/This plan is out of date .* revision 4 by now/).waitFor();
  await page.getByText(/with a command/).waitFor();
  await expect(
    call("POST", `/projects/default/stacks/one/runs/${run}/approvals`, { plan_digest: digest }),
  ).rejects.toThrow(/409/);
  await isLoaded(page);
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("button", { name: "Plan again…" }).click();
  await dialog.getByRole("button", { name: "Plan again" }).click();
  await page.getByRole("heading", { level: 1, name: "Run 3 of default/one" }).waitFor();
  await page.getByRole("button", { name: "Approve…" }).click({ timeout: 90_000 });
  await dialog.getByLabel(/Type the name of the stack/).fill("one");
  await dialog.getByRole("button", { name: "Approve", exact: true }).click();
  await page.locator(".page-head .badge", { hasText: "applied" }).waitFor({ timeout: 90_000 });
  const errors = browser.misbehavior.errors.filter((text) => !/409/.test(text));
  expect({ ...browser.misbehavior, errors }).toEqual({ errors: [], violations: [], strangers: [] });
});

it("a failure is shown from its first cause on, with what it held up and what becomes of the rest", {
  timeout: 240_000,
}, async (context) => {
  const args = ["--provisioner-project", "default/default"];
  const { page, browser, request, waitFor } = await startConsole(context, { args });
  await waitFor(await request(FAILING, { auto_apply: true }), "partially_applied");
  // One activation from the overview to the cause, a second one to the next run.
  await page
    .getByRole("region", { name: /Needs attention \(1\)/ })
    .getByRole("link")
    .click();
  const cause = page.getByRole("region", { name: "First cause: terraform_data.db" });
  await cause.getByText("create tainted", { exact: true }).waitFor();
  await cause
    .getByText(/exit status 3|exited with|code 3/)
    .first()
    .waitFor();
  await cause.getByRole("heading", { name: "Skipped because of it (2)" }).waitFor();
  await cause.getByText("terraform_data.lb", { exact: true }).waitFor();
  await cause.getByText("The last lines of its log").click();
  await cause
    .getByText(/^about-to-fail/m)
    .first()
    .waitFor();
  const steps = page.getByRole("table", { name: "Steps of the apply" });
  await steps
    .getByText(/create skipped \(terraform_data\.db\)/)
    .first()
    .waitFor();
  await page.getByText(/^Critical path .*terraform_data\.net.*terraform_data\.db$/).waitFor();
  await isLoaded(page);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await violationsOf(page), colorScheme).toEqual([]);
  }
  await page.getByRole("button", { name: "Run again…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Run again" }).click();
  await page.getByRole("heading", { level: 1, name: "Run 2 of default/one" }).waitFor();
  await page.getByText("terraform_data.db must be replaced").first().waitFor({ timeout: 90_000 });
  expect(browser.misbehavior).toEqual({ errors: [], violations: [], strangers: [] });
});

it("a run that is stuck is marked where it is shown, until it is not", {
  timeout: 120_000,
}, async (context) => {
  const args = ["--executor", "none", "--run-unclaimed-minutes", "0.01"];
  const { page, server, call, request, browser } = await startConsole(context, { args });
  const run = await request('resource "terraform_data" "a" {}', {});
  const attention = page.getByRole("region", { name: /^Needs attention/ });
  await attention.getByText("stuck", { exact: true }).waitFor();
  const row = page.getByRole("row", { name: /default\/one/ });
  await row.getByText("stuck", { exact: true }).waitFor();
  await attention.getByRole("link", { name: "default/one" }).click();
  await page.getByText(/The run is stuck: no worker takes its step/).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await call("POST", `/projects/default/stacks/one/runs/${run}/cancel`, {});
  await page.getByText(/The run is stuck/).waitFor({ state: "detached" });
  await page.goto(`${server.url}/console/`);
  await page.getByText("Nothing waits for a decision.").waitFor();
  expect(await page.getByText("stuck", { exact: true }).count()).toBe(0);
  expect(browser.misbehavior).toEqual({ errors: [], violations: [], strangers: [] });
});
