import type { Route } from "playwright-core";
import { expect, it } from "vitest";
import { startConsole, violationsOf } from "../testing/start-console.ts";

it("what is slow to load can be given up, and asked for again", {
  timeout: 120_000,
}, async (context) => {
  const { page, server, browser } = await startConsole(context);
  const held: Route[] = [];
  let isHeld = true;
  await page.route(/\/api\/v1\/projects$/, async (route) => {
    if (isHeld) held.push(route);
    else await route.continue();
  });
  await page.goto(`${server.url}/console/projects`);
  const slow = page.getByText("Still loading projects: the server has not answered yet.");
  await slow.waitFor();
  expect(await violationsOf(page)).toEqual([]);
  // The request is given up, and not sent again by itself.
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("Loading projects was canceled").waitFor();
  expect(await page.locator("main .loading").count()).toBe(0);
  expect(held).toHaveLength(1);
  await page.getByRole("button", { name: "Try again" }).click();
  await slow.waitFor();
  expect(held).toHaveLength(2);
  // One that may never be answered is sent again.
  isHeld = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("link", { name: "default", exact: true }).first().waitFor();
  await page.unrouteAll({ behavior: "ignoreErrors" });
  const errors = browser.misbehavior.errors.filter((text) => !/net::ERR_/.test(text));
  expect({ ...browser.misbehavior, errors }).toEqual({ errors: [], violations: [], strangers: [] });
});
