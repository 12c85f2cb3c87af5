import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { isLoaded, startConsole, violationsOf } from "../testing/start-console.ts";

const CANARY = "cnry-4f1c9d";

/** Values that would do harm as markup, as an address, and as directions of writing. */
const HOSTILE = `<img src=x onerror=alert(1)>\u202e javascript:alert(1) </script>`;

const configuration = (word: string, count: number): string => `
variable "secret" {
  sensitive = true
  default   = "${CANARY}"
}
resource "terraform_data" "first" { input = ${JSON.stringify(word)} }
resource "terraform_data" "second" {
  count            = ${count}
  input            = jsonencode({ first = terraform_data.first.output, hostile = ${JSON.stringify(HOSTILE)} })
  triggers_replace = terraform_data.first.output
}
resource "terraform_data" "hidden" { input = var.secret }
output "word" { value = terraform_data.first.output }
output "secret" {
  value     = var.secret
  sensitive = true
}
`;

describe("the console", { timeout: 240_000 }, () => {
  it("shows a plan, takes an approval, and follows the apply as it happens", async (context) => {
    const { page, browser, request, waitFor, server, token } = await startConsole(context);
    const { misbehavior } = browser;
    await page.getByText("There are no stacks").waitFor({ state: "detached" });

    // The overview follows without a reload.
    const first = await request(configuration("one", 2), { auto_apply: true });
    await page.getByRole("cell", { name: "applied" }).waitFor({ timeout: 90_000 });
    await waitFor(first, "applied");
    const second = await request(configuration("two", 3), {});
    await page.getByRole("region", { name: /Needs attention \(1\)/ }).waitFor({ timeout: 90_000 });
    await waitFor(second, "awaiting_approval");

    // A program with the token opens the console with an address that is good for one browser; the code does not stay in it.
    const asked = await fetch(`${server.url}/auth/codes`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
    });
    const { url: address } = (await asked.json()) as { readonly url: string };
    const opened = await browser.context.newPage();
    const asks = opened.getByRole("heading", {
      level: 1,
      name: /^Sign in as token-[0-9a-f]{12}\?$/,
    });
    await opened.goto(address);
    await asks.waitFor();
    expect(opened.url()).toBe(`${server.url}/console/`);
    // Whose it is has been said, and nobody is signed in before that is agreed to.
    expect(await opened.locator("main").innerText()).toMatch(/the account default \(bootstrap\)/);
    expect(await opened.evaluate("sessionStorage.length")).toBe(0);
    expect(await violationsOf(opened)).toEqual([]);
    await opened.getByRole("button", { name: "Do not sign in" }).click();
    await opened.getByLabel("Token").waitFor();
    // The code is good still, and leads an open tab to the question again.
    await opened.evaluate(`location.hash = ${JSON.stringify(new URL(address).hash)}`);
    await asks.waitFor();
    await opened.getByRole("button", { name: /^Sign in as/ }).click();
    await opened.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    expect(opened.url()).toBe(`${server.url}/console/`);
    // A tab with a session uses no code, and keeps none in its address.
    await page.evaluate(`location.hash = ${JSON.stringify(new URL(address).hash)}`);
    await page.getByText(/You are signed in already, as token-/).waitFor();
    expect(page.url()).toBe(`${server.url}/console/`);
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByText("You are signed in already").waitFor({ state: "detached" });
    // From there a stack, and its graph, in two activations.
    await opened.getByRole("link", { name: "default/one" }).last().click();
    await opened.locator('a[href="/console/p/default/s/one/graph"]').click();
    await opened.getByText("4 nodes, 2 dependencies").waitFor();
    await opened.close();

    // At most three activations from the overview to an approved run.
    await page
      .getByRole("region", { name: /Needs attention/ })
      .getByRole("link")
      .click();
    await page.getByRole("heading", { level: 1, name: "Run 2 of default/one" }).waitFor();
    await page.getByText("terraform_data.second[0] must be replaced").waitFor();
    await page
      .getByText(/2 to destroy/)
      .first()
      .waitFor();
    const text = await page.locator("main").innerText();
    expect(text).toContain("terraform_data.second[2] will be created");
    await page.getByRole("button", { name: "Approve…" }).click();
    const approve = page.getByRole("button", { name: "Approve", exact: true });
    expect(await approve.isDisabled()).toBe(true);
    await page.getByLabel(/Type the name of the stack/).fill("one");
    await page.getByLabel("Comment").fill("as discussed");
    await approve.click();
    await page.getByRole("table", { name: "Steps of the apply" }).waitFor({ timeout: 60_000 });
    await page.locator(".page-head .badge", { hasText: "applied" }).waitFor({ timeout: 90_000 });
    await page.getByText("terraform_data.second[2]").first().waitFor();

    await page.getByRole("link", { name: "Log" }).click();
    await page.getByText(/approved by .*: as discussed/).waitFor();
    await page.getByRole("link", { name: "Details" }).click();
    await page.getByText("as discussed").waitFor();

    // No token in an address, no secret on a page, no request to elsewhere.
    expect(page.url()).not.toContain(token);
    const pages = ["resources", "graph", "outputs", "history", "variables", "runs", "settings", ""];
    for (const name of pages) {
      await page.goto(`${server.url}/console/p/default/s/one/${name}`);
      await page.getByRole("heading", { level: 1, name: "default/one" }).waitFor();
      await isLoaded(page);
      expect(await page.content(), name).not.toContain(CANARY);
    }
    await page.goto(`${server.url}/console/p/default/s/one/resources`);
    await page.getByRole("option", { name: /terraform_data.second\[0\]/ }).click();
    await page.getByText("Depends on (1)").waitFor();
    // Directions of writing are shown and not followed.
    await page
      .getByText(/\\u202e javascript:alert\(1\)/)
      .first()
      .waitFor();
    await page.goto(`${server.url}/console/p/default/s/one/graph`);
    // A worker has laid it out, which trusted types must not prevent.
    await page.getByText("5 nodes, 3 dependencies").waitFor();
    await isFitted(page);
    // It stays fitted in a window of another size, and once more after the user had a view of their own.
    const former = page.viewportSize();
    await page.setViewportSize({ width: 500, height: 700 });
    await isFitted(page);
    await page.getByRole("button", { name: "Enlarge" }).click();
    await page.getByRole("application").press("ArrowRight");
    await page.getByRole("button", { name: "Fit" }).click();
    await page.setViewportSize({ width: 1600, height: 900 });
    await isFitted(page);
    if (former !== null) await page.setViewportSize(former);
    await isFitted(page);
    await page.locator(".node", { hasText: "terraform_data.first" }).click();
    await page.getByRole("heading", { name: "Needed by (3)" }).waitFor();
    // The search finds what the server knows.
    await page.keyboard.press("Control+k");
    await page.keyboard.type("data.second[1");
    await page.getByRole("option", { name: /terraform_data\.second\[1\]/ }).click();
    await page.getByRole("heading", { level: 2, name: "terraform_data.second[1]" }).waitFor();
    await page.goto(`${server.url}/console/p/default/s/one/history?from=2&to=4`);
    await page.getByText("terraform_data.second[2] was created").waitFor();
    expect(misbehavior).toEqual({ errors: [], violations: [], strangers: [] });
  });

  it("is usable by all, in both themes and on narrow screens", async (context) => {
    const { page, request, waitFor, server, call, scratch } = await startConsole(context, {
      scheme: "dark",
      args: ["--provisioner-project", "default/default"],
    });
    const run = await request(configuration("one", 2), {});
    await waitFor(run, "awaiting_approval");
    const schemes = ["dark", "light"] as const;
    const paths = ["", "graph", `p/default/s/one/r/${run}`, "p/default/s/one/settings", "settings"];
    const found: string[] = [];
    for (const path of paths) {
      await page.goto(`${server.url}/console/${path}`);
      await page.locator("h1").waitFor();
      await isLoaded(page);
      for (const colorScheme of schemes) {
        await page.emulateMedia({ colorScheme });
        found.push(...(await violationsOf(page)).map((text) => `${path} ${colorScheme}: ${text}`));
      }
      await page.setViewportSize({ width: 320, height: 800 });
      const wide = await page.evaluate("document.documentElement.scrollWidth");
      if (wide !== 320)
        found.push(`${path} is ${JSON.stringify(wide)} pixels wide on a screen with 320`);
      await page.setViewportSize({ width: 1390, height: 900 });
    }
    expect(found).toEqual([]);

    // By keyboard alone.
    await page.goto(`${server.url}/console/`);
    await page.locator("h1").waitFor();
    await page.getByRole("link", { name: "default/one" }).first().waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("one run");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Run 1 of default/one" }).waitFor();
    await page.getByRole("button", { name: "Discard…" }).focus();
    await page.keyboard.press("Enter");
    await page.keyboard.type("not now");
    await page.keyboard.press("Enter");
    await page.locator(".page-head .badge", { hasText: "discarded" }).waitFor();
    const { reason } = await call("GET", `/projects/default/stacks/one/runs/${run}`);
    expect(reason).toContain("not now");

    // An apply whose first step is in progress is canceled by keyboard alone.
    const gate = join(scratch, "gate");
    const canceled = await request(waitingFor(gate), { auto_apply: true });
    await waitFor(canceled, "applying");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("one run");
    await page
      .getByRole("option", { name: /one run 2/ })
      .first()
      .waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Run 2 of default/one" }).waitFor();
    await tabTo(page, "Cancel…");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Cancel the run" }).waitFor();
    await tabTo(page, "Cancel the run");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "End at once…" }).waitFor();
    await writeFile(gate, "");
    // Its first object was made.
    await page.locator(".page-head .badge", { hasText: "partially applied" }).waitFor();
  });
});

/** The first step waits for a file, the second for the first. */
const waitingFor = (file: string): string => `
resource "terraform_data" "first" {
  provisioner "local-exec" { command = "until [ -e ${file} ]; do sleep 0.1; done" }
}
resource "terraform_data" "second" { input = terraform_data.first.id }
`;

/** Presses Tab until a button of a name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const button = page.getByRole("button", { name, exact: true });
  await button.waitFor();
  const isFocused = async (): Promise<boolean> =>
    button.evaluate((element) => element.matches(":focus-visible"));
  for (let presses = 0; presses < 60 && !(await isFocused()); presses += 1) {
    await page.keyboard.press("Tab");
  }
  expect(await isFocused(), name).toBe(true);
}

/** Waits until the graph stands in the middle of its picture, whole. */
async function isFitted(page: Page): Promise<void> {
  const isSo = `(() => {
    const picture = document.querySelector(".graph-picture")?.getBoundingClientRect();
    const drawn = document.querySelector(".graph-picture svg > g")?.getBoundingClientRect();
    if (picture === undefined || drawn === undefined || drawn.width === 0) return false;
    const middle = picture.left + picture.width / 2 - (drawn.left + drawn.width / 2);
    return Math.abs(middle) < 15 && drawn.left >= picture.left && drawn.right <= picture.right;
  })()`;
  await expect.poll(async () => page.evaluate<boolean>(isSo), { timeout: 10_000 }).toBe(true);
}
