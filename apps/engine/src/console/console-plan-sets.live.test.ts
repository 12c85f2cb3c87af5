import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { isLoaded, startConsole, violationsOf } from "../testing/start-console.ts";
import { tarOf } from "../testing/tar-of.ts";

const NETWORK = `
resource "terraform_data" "net" { input = "v1" }
output "id" { value = terraform_data.net.id }
`;
const APP = `
data "terraform_remote_state" "network" {
  backend = "stackwright"
  config  = { stack = "network" }
}
resource "terraform_data" "a" { input = data.terraform_remote_state.network.outputs.id }
`;

it("plans of several stacks are read and approved together", {
  timeout: 240_000,
}, async (context) => {
  const { page, browser, call, server } = await startConsole(context);
  const project = "/projects/default";
  const stacks = await Promise.all(
    Object.entries({ network: NETWORK, app: APP }).map(async ([name, text]) => {
      await call("POST", `${project}/stacks`, { name });
      const archive = Uint8Array.from(gzipSync(tarOf({ "main.tf": text })));
      const { digest } = await call("POST", `${project}/stacks/${name}/configurations`, archive);
      return { stack: name, configuration: digest };
    }),
  );

  // Without any set the page says how one is made.
  await page.goto(`${server.url}/console/p/default/plan-sets`);
  await page.getByText("No stacks were planned together yet").waitFor();
  const { id = "" } = await call("POST", `${project}/plan-sets`, { stacks, mode: "apply" });
  await page.reload();
  await page
    .getByRole("table", { name: "Plan sets" })
    .getByRole("link", { name: id.slice(-8) })
    .click();

  // It follows by itself what becomes of the plans.
  const approve = page.getByRole("button", { name: "Approve all…" });
  await approve.waitFor({ timeout: 90_000 });
  const rows = page.getByRole("table", { name: /in the order/ }).locator("tbody th");
  expect(await rows.allTextContents()).toEqual(["network", "app"]);
  await page.getByText("terraform_data.a will be created").waitFor();
  await isLoaded(page);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await violationsOf(page), colorScheme).toEqual([]);
  }
  await page.setViewportSize({ width: 320, height: 800 });
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
  await page.setViewportSize({ width: 1280, height: 800 });

  // A run of the set leads to it, and is not approved alone.
  await page.getByRole("link", { name: "app", exact: true }).click();
  await page.getByRole("link", { name: "Plan set" }).waitFor();
  expect(await page.getByRole("button", { name: "Approve…" }).count()).toBe(0);
  await page.getByRole("link", { name: "Plan set" }).click();

  await approve.click();
  await page.getByLabel("Comment").fill("both belong together");
  await page.getByRole("button", { name: "Approve all plans" }).click();
  await page.getByText("both belong together").waitFor({ timeout: 60_000 });
  await page.locator("h2 .badge", { hasText: "applied" }).waitFor({ timeout: 90_000 });
  expect(browser.misbehavior).toEqual({ errors: [], violations: [], strangers: [] });
});
