import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { isLoaded, signIn, startConsole } from "../testing/start-console.ts";

// Many tabs of one browser: over HTTP/1.1 it has six connections to a server, which streams must not use up.

const TABS = 12;

it("twelve tabs have one stream of the stacks, and all of them follow what happens", {
  timeout: 240_000,
}, async (context) => {
  const { page, browser, server, token, call } = await startConsole(context);
  const tabs: Page[] = [page];
  while (tabs.length < TABS) {
    const tab = await browser.context.newPage();
    await tab.goto(`${server.url}/console/`);
    await signIn(tab, token);
    tabs.push(tab);
  }
  await call("POST", "/projects/default/stacks", { name: "later" });
  // No tab waits for a connection of another one.
  for (const tab of tabs) {
    await tab.bringToFront();
    await tab.getByRole("link", { name: "default/later" }).first().waitFor();
    await expect.poll(async () => tab.locator(".connection").innerText()).toBe("Live");
  }
  // The stream is the one of their worker: no page has one of its own.
  for (const tab of tabs) {
    const own = await tab.evaluate<number>(
      "performance.getEntriesByType('resource').filter(({ name }) => name.includes('/api/v1/watch')).length",
    );
    expect(own).toBe(0);
  }
  const running = async (): Promise<number> => {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    return Number(/^stackwright_http_requests_running (\d+)$/m.exec(text)?.[1]);
  };
  // One stream, and the request that asks.
  await expect.poll(running, { timeout: 30_000 }).toBeLessThanOrEqual(2);
  // The first tab goes, which began the stream; the others go on.
  await page.close();
  await call("POST", "/projects/default/stacks", { name: "last" });
  const last = tabs.at(-1);
  await last?.getByRole("link", { name: "default/last" }).first().waitFor();
  expect(browser.misbehavior).toEqual({ errors: [], violations: [], strangers: [] });
});

it("all pages of a tab have one stream of the stacks, also where the browser can share none", {
  timeout: 120_000,
}, async (context) => {
  const { page, browser, server, token, call } = await startConsole(context);
  await browser.context.addInitScript({ content: "delete globalThis.SharedWorker;" });
  const tab = await browser.context.newPage();
  const streams: string[] = [];
  tab.on("request", (request) => {
    if (request.url().includes("/api/v1/watch")) streams.push(request.url());
  });
  await tab.goto(`${server.url}/console/`);
  await signIn(tab, token);
  await page.close();
  const bar = tab.getByRole("navigation", { name: "Main" });
  for (const name of ["Projects", "Drift", "Graph", "Tools", "Frozen", "Overview"]) {
    await bar.getByRole("link", { name, exact: true }).click();
    await tab.getByRole("heading", { level: 1, name }).waitFor();
    await isLoaded(tab);
  }
  await tab.getByRole("link", { name: "default/one" }).first().click();
  await tab.getByRole("heading", { level: 1, name: "default/one" }).waitFor();
  await tab.keyboard.press("Control+k");
  await call("POST", "/projects/default/stacks", { name: "later" });
  await tab.keyboard.type("later");
  await tab
    .getByRole("option", { name: /default\/later/ })
    .first()
    .waitFor();
  expect(streams).toHaveLength(1);
});
