import { join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { playedTool } from "../testing/played-tool.ts";
import { policyBundle } from "../testing/policies/read-policies.ts";
import { isLoaded, startConsole, violationsOf } from "../testing/start-console.ts";
import { startReceiver } from "../testing/start-receiver.ts";
import { tarOf } from "../testing/tar-of.ts";

// The pages of administrators, and the way to every page on a telephone.

const GOOD = 'resource "terraform_data" "good" { input = "x" }';
const BAD = 'resource "terraform_data" "bad" { input = "x" }';

const README = `# Network <script>document.title = "taken"</script>

<img src="https://evil.example/pixel.png" onerror="document.title = 'taken'">

![badge](https://evil.example/badge.svg) [run](javascript:document.title='taken')
[docs](https://docs.example/network) [inputs](#inputs) \u202e reversed

## Inputs

| Name | Type |
| ---- | ---- |
| cidr | \`<iframe src="https://evil.example/">\` |
`;

/** To be looked at: CONSOLE_SCREENSHOTS names the folder. */
const FOLDER = process.env["CONSOLE_SCREENSHOTS"] ?? "";

async function picture(page: Page, name: string): Promise<void> {
  if (FOLDER !== "") await page.screenshot({ path: join(FOLDER, `${name}.png`) });
}

it("every page is reached on a telephone by touch, keyboard and screen reader", {
  timeout: 120_000,
}, async (context) => {
  const started = await startConsole(context, { viewport: { width: 390, height: 844 } });
  const { page, server, browser } = started;
  const bar = page.getByRole("navigation", { name: "Main" });
  const more = page.getByRole("button", { name: "More" });
  const sheet = page.getByRole("dialog", { name: "All pages" });
  // All of the bar is on the screen, in parts that a finger finds.
  for (const one of await bar.locator(":is(a, button):visible").all()) {
    const box = await one.boundingBox();
    expect(box?.x).toBeGreaterThanOrEqual(0);
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(390);
    expect(box?.height).toBeGreaterThanOrEqual(24);
  }
  expect(await more.getAttribute("aria-haspopup")).toBe("dialog");
  const names = ["Registry", "Policies", "Tools", "Identity of runs", "Frozen", "Audit", "Access"];
  for (const name of [...names, "Settings"]) {
    await more.click();
    expect(await more.getAttribute("aria-expanded")).toBe("true");
    await sheet.getByRole("link", { name, exact: true }).click();
    await sheet.waitFor({ state: "detached" });
    await page.getByRole("heading", { level: 1, name }).waitFor();
    await isLoaded(page);
    const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
    expect([name, wide]).toEqual([name, 390]);
    expect(await more.getAttribute("class")).toContain("active");
  }
  // By keyboard alone: in, around inside, away with Escape, and focus is where it was.
  await more.focus();
  await page.keyboard.press("Enter");
  await sheet.waitFor();
  const focused = async (): Promise<string> =>
    page.evaluate<string>("document.activeElement?.textContent ?? ''");
  const seen = new Set<string>();
  for (let step = 0; step < 30; step += 1) {
    seen.add(await focused());
    const isInside = await page.evaluate<boolean>(
      "document.activeElement === document.body || document.activeElement?.closest('dialog') !== null",
    );
    expect(isInside).toBe(true);
    await page.keyboard.press("Tab");
  }
  for (const name of [...names, "Overview", "Help", "Sign out"]) expect(seen).toContain(name);
  const found: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await picture(page, `more-${colorScheme}-390`);
    found.push(...(await violationsOf(page)));
  }
  expect(found).toEqual([]);
  await page.keyboard.press("Escape");
  // Closed it has no role; the page hears of that with the next frame, and takes it away. A key before that is lost.
  await page.locator("dialog").waitFor({ state: "detached" });
  expect(await focused()).toBe("More");
  await page.keyboard.press("Enter");
  await sheet.getByRole("link", { name: "Access", exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Access" }).waitFor();
  // Where there is room, the pages are beside each other, and there is no sheet.
  await more.click();
  await page.setViewportSize({ width: 1440, height: 900 });
  await sheet.waitFor({ state: "detached" });
  expect(await more.isVisible()).toBe(false);
  await bar.getByRole("link", { name: "Settings" }).click();
  await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
  expect(browser.misbehavior).toEqual({ errors: [], violations: [], strangers: [] });
  expect(page.url()).toBe(`${server.url}/console/settings`);
});

it("administrators replay policies, compare and change tools, trust runs, and send the trail", {
  timeout: 240_000,
}, async (context) => {
  const receiver = await startReceiver();
  const tool = await playedTool();
  const args = ["--notification-host", "127.0.0.1", "--tool", `terraform=${tool}`];
  const started = await startConsole(context, { args });
  const { page, browser, server, call, request, waitFor } = started;
  const dialog = page.getByRole("dialog");
  const found: string[] = [];
  const judge = async (name: string): Promise<void> => {
    await isLoaded(page);
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 });
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        await picture(page, `${name.replaceAll(/\W+/g, "-")}-${colorScheme}-${width}`);
        const bad = await violationsOf(page);
        found.push(...bad.map((text) => `${name} ${colorScheme} ${width}: ${text}`));
      }
      const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
      if (wide > width) found.push(`${name} is ${wide} pixels wide on a screen with ${width}`);
    }
    await page.setViewportSize({ width: 1390, height: 900 });
  };
  const open = async (path: string): Promise<void> => {
    await page.goto(`${server.url}/console/${path}`);
    await page.locator("h1").first().waitFor();
    await isLoaded(page);
  };
  const stack = "/projects/default/stacks/one";

  // Policies: none at first, a failure that is said and passes, then a replay over plans that were made before.
  await open("policies");
  await page.getByText("There are no policy sets").waitFor();
  await judge("policies, empty");
  await waitFor(await request(GOOD, { auto_apply: true }), "applied");
  const bad = await request(BAD, {});
  await waitFor(bad, "awaiting_approval");
  await call("POST", "/policy-sets", { name: "security", description: "an unwanted set" });
  const upload = Uint8Array.from(policyBundle());
  await call("PUT", "/policy-sets/security/content?entrypoint=stackwright", upload);
  await page.route("**/api/v1/policy-sets", async (route) =>
    route.fulfill({
      status: 422,
      contentType: "application/problem+json",
      body: JSON.stringify({
        type: "about:blank",
        title: "It broke",
        status: 422,
        detail: "as the test wants it",
        code: "unprocessable",
        request_id: "r-1",
      }),
    }),
  );
  await open("policies");
  await page.getByRole("alert").getByText("r-1").waitFor();
  await judge("policies, failed");
  await page.unroute("**/api/v1/policy-sets");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("link", { name: "security" }).click();
  await page.getByText("judges plans").first().waitFor();
  await page.getByRole("button", { name: "Replay", exact: true }).click();
  await page.getByText("2 plans: 1 pass, 1 fail; 1 judged otherwise than before").waitFor();
  await page.getByText("complete", { exact: true }).waitFor();
  const replayed = page.getByRole("table", { name: "Replayed plans" });
  await replayed.getByText("1 finding").click();
  await replayed.getByText("terraform_data.bad").waitFor();
  await page.getByLabel("only what is judged otherwise").check();
  expect(await replayed.getByRole("row").count()).toBe(2);
  await judge("replay");
  // One that was cut off by its time says so, and one that takes long is stopped.
  const held = Promise.withResolvers<void>();
  await page.route("**/replay", async (route) => {
    await held.promise;
    await route.fulfill({ json: { runs: [], complete: false } }).catch(() => undefined);
  });
  await page.getByRole("button", { name: "Replay", exact: true }).click();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("The replay was stopped").waitFor();
  held.resolve();
  await page.getByRole("button", { name: "Replay", exact: true }).click();
  await page.getByText(/not complete: two minutes were over/).waitFor();
  await page.unroute("**/replay");

  // Tools: from the engine to terraform with comparisons, the engine is offered, takes over, and gives back.
  await call("POST", `${stack}/runs/${bad}/discard`, { reason: "not this" });
  await open("tools");
  await page.getByRole("row", { name: /^one engine/ }).waitFor();
  await judge("tools");
  await page.getByRole("link", { name: "one", exact: true }).click();
  await page.getByText("No plan was compared yet").waitFor();
  await call("POST", "/projects/default/stacks", { name: "two" });
  await open("p/default/s/two/tool");
  await page.getByRole("button", { name: "Switch to terraform…" }).click();
  await dialog.getByRole("button", { name: "Switch" }).click();
  await page.getByText("terraform on a worker").waitFor();
  await page.getByRole("button", { name: "Change the tool…" }).click();
  await dialog.getByLabel(/^shadow mode/).check();
  await dialog.getByLabel(/^Equal plans in a row/).fill("1");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("0 of 1 equal plans in a row").waitFor();
  const archive = Uint8Array.from(
    gzipSync(tarOf({ "main.tf": 'resource "terraform_data" "a" { input = "x" }' })),
  );
  const second = "/projects/default/stacks/two";
  const { digest } = await call("POST", `${second}/configurations`, archive);
  const { id = "" } = await call("POST", `${second}/runs`, { configuration: digest });
  const compared = page.getByRole("table", { name: "Comparisons" });
  await compared.getByText("equal").waitFor({ timeout: 90_000 });
  await page.getByText(/The engine can take the stack over; terraform can have it back/).waitFor();
  await judge("tool");
  await open("tools?only=adopt");
  await page.getByRole("row", { name: /two terraform .*may be adopted/ }).waitFor();
  await call("POST", `${second}/runs/${id}/discard`, { reason: "only compared" });
  await open("p/default/s/two/tool");
  await page.getByRole("button", { name: "Let the engine take over…" }).click();
  await dialog.getByRole("button", { name: "Take over" }).click();
  await page.getByText("stackwright: the engine of this server").waitFor();
  await page.getByRole("button", { name: "Switch to terraform…" }).click();
  await dialog.getByRole("button", { name: "Switch" }).click();
  await page.getByText("terraform on a worker").waitFor();

  // Identity of runs: the issuer, its keys, what a cloud is told, and what a run got.
  const variable = { value: "vault" };
  await call("PUT", `${stack}/variables/env/STACKWRIGHT_IDENTITY_AUDIENCE_VAULT`, variable);
  await waitFor(await request(BAD.replaceAll("bad", "fine"), { auto_apply: true }), "applied");
  await open("identity?stack=default/one");
  await page.getByText(`${server.url}/.well-known/jwks`).waitFor();
  await page.getByText(/Clouds trust issuers with TLS alone/).waitFor();
  const issued = page.getByRole("table", { name: "Issued to its runs" });
  await issued.getByRole("row", { name: /apply vault/ }).waitFor();
  await page.getByLabel("Platform").selectOption("vault");
  await page.getByText(/bound_subject='account:default:project:default:stack:one/).waitFor();
  await page.getByLabel("Phase").selectOption("plan");
  await page.getByText(/bound_subject='.*phase:plan'/).waitFor();
  await judge("identity");
  await page.reload();
  await page.getByText(/bound_subject='.*phase:plan'/).waitFor();

  // The trail goes to a receiver, which fails and is well again.
  await open("audit");
  await page.getByRole("link", { name: "Webhooks" }).click();
  await page.getByText("The trail is sent nowhere").waitFor();
  await page.getByRole("button", { name: "Add a webhook…" }).click();
  await dialog.getByLabel("Name", { exact: true }).fill("siem");
  await dialog.getByLabel("Address").fill(receiver.url);
  receiver.answers.status = 500;
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText(/^whsec_/).waitFor();
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.getByRole("link", { name: "Deliveries of siem" }).click();
  await page.getByText("not delivered (500)").first().waitFor({ timeout: 60_000 });
  await judge("audit webhooks");
  receiver.answers.status = 200;
  await page.getByRole("button", { name: "Test siem" }).click();
  await page.getByText("The test was delivered (200)").waitFor();
  await page.getByRole("button", { name: "Change siem" }).click();
  await dialog.getByLabel(/^paused/).check();
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("cell", { name: "paused" }).waitFor();
  await page.getByRole("button", { name: "Change siem" }).click();
  await dialog.getByLabel(/^paused/).uncheck();
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("delivered (200)", { exact: true }).first().waitFor({ timeout: 60_000 });
  await page.getByRole("button", { name: "Delete siem" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByText("The trail is sent nowhere").waitFor();

  expect(found).toEqual([]);
  const errors = browser.misbehavior.errors.filter((text) => !/422|policy-sets/.test(text));
  expect({ ...browser.misbehavior, errors }).toEqual({ errors: [], violations: [], strangers: [] });
});

it("a README is text with its form, and nothing of it runs, loads or leads astray", {
  timeout: 120_000,
}, async (context) => {
  const { page, server, browser, token } = await startConsole(context);
  const files = { "main.tf": 'output "a" { value = 1 }', "README.md": README };
  const module = await fetch(`${server.url}/api/v1/registry/modules/acme/network/lab/1.0.0`, {
    method: "PUT",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/gzip" },
    body: Uint8Array.from(gzipSync(tarOf(files))),
  });
  expect(module.status).toBe(201);
  await page.goto(`${server.url}/console/registry/modules/acme/network/lab`);
  const readme = page.locator(".markdown");
  await readme.getByRole("heading", { name: /^Network <script>/ }).waitFor();
  await readme.getByRole("cell", { name: "cidr" }).waitFor();
  await readme.getByText(String.raw`\u202e reversed`).waitFor();
  const links = await readme.getByRole("link").all();
  const targets = await Promise.all(
    links.map(async (one) => [await one.getAttribute("href"), await one.getAttribute("rel")]),
  );
  expect(targets[0]).toEqual(["https://docs.example/network", expect.stringContaining("noopener")]);
  expect(targets).toHaveLength(2);
  expect(await readme.locator("img, script, iframe, svg, style").count()).toBe(0);
  expect(await page.title()).toContain("acme/network/lab");
  await page.getByText("The last applied plan of no stack fetched this module").waitFor();
  await readme.getByRole("link", { name: "inputs" }).click();
  expect(await page.locator(":target").innerText()).toBe("Inputs");
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await picture(page, `readme-${colorScheme}-${width}`);
      expect([width, colorScheme, await violationsOf(page)]).toEqual([width, colorScheme, []]);
    }
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
  }
  expect(browser.misbehavior).toEqual({ errors: [], violations: [], strangers: [] });
});
